"""A model in a file, loaded by llama.cpp: a tiny one, and files that are none."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import Open
from treering.errors import LLMError, LLMNotConfigured, LLMUnavailable
from treering.llm.contract import Message
from treering.llm.settings import open_llm

pytest.importorskip("xllamacpp", reason="needs the extra 'local'")

from tests.llm.tiny_gguf import CONTEXT, write_tiny_model
from treering.llm.local import LocalLLM

HELLO = [Message("system", "be short"), Message("user", "hello")]


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def model(model_path: Path) -> Iterator[LocalLLM]:
    with closing(LocalLLM(model_path, context_window=CONTEXT, threads=1)) as opened:
        yield opened


def test_a_model_is_named_after_its_file_and_says_how_much_it_reads(model: LocalLLM) -> None:
    assert (model.model, model.context_window) == ("tiny", CONTEXT)


def test_tokens_are_counted_by_the_models_own_tokenizer(model: LocalLLM) -> None:
    assert model.count_tokens("hello") == len("_hello")
    assert model.count_tokens("Ä") == len("_") + len("Ä".encode())
    assert model.count_tokens("</s>") > 1  # a text that looks like a control token


def test_the_same_request_gets_the_same_reply(model: LocalLLM) -> None:
    for temperature, seed in ((0.0, None), (1.0, 3)):
        first, second = (
            model.complete(HELLO, max_tokens=8, temperature=temperature, seed=seed)
            for _ in range(2)
        )
        assert first == second
        assert first.usage.completion_tokens <= 8
        assert (first.model, first.usage.calls, first.usage.estimated) == ("tiny", 1, False)


def test_the_chat_template_of_the_file_is_applied(model: LocalLLM) -> None:
    reply = model.complete(HELLO, max_tokens=1, temperature=0)
    shown = "system: be short\nuser: hello\n"
    assert reply.usage.prompt_tokens == len("<") + len("_") + len(shown)


def test_a_streamed_reply_is_the_whole_reply_in_pieces(model: LocalLLM) -> None:
    whole = model.complete(HELLO, max_tokens=8, temperature=0)
    with model.stream(HELLO, max_tokens=8, temperature=0) as stream:
        pieces = list(stream)
    assert "".join(pieces) == whole.text
    assert stream.reply is not None
    assert stream.reply.usage == whole.usage


def test_requests_of_several_threads_queue(model: LocalLLM) -> None:
    def ask(_: int) -> str:
        return model.complete(HELLO, max_tokens=8, temperature=0).text

    with ThreadPoolExecutor(4) as threads:
        assert len(set(threads.map(ask, range(8)))) == 1


def test_more_than_the_window_holds_is_refused(model: LocalLLM) -> None:
    with pytest.raises(LLMError):
        model.complete([Message("user", "a" * CONTEXT)], max_tokens=8, temperature=0)


def test_a_closed_model_says_so(model_path: Path) -> None:
    opened = LocalLLM(model_path, context_window=CONTEXT, threads=1)
    opened.close()
    with pytest.raises(LLMUnavailable):
        opened.count_tokens("hello")


def test_a_chat_with_a_model_in_a_file_is_remembered(open_memory: Open, model_path: Path) -> None:
    with open_memory(llm=str(model_path)) as memory:
        answer = memory.chat("hello there")
        assert [entry.text for entry in memory.entries()] == ["hello there", answer.text]


@pytest.mark.parametrize("name", ["absent.gguf", "folder.gguf", "diary.gguf"])
def test_what_is_no_model_is_refused_before_llama_cpp_sees_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.gguf").mkdir()
    (tmp_path / "diary.gguf").write_text("dear diary")
    path = str(tmp_path / name)
    for spec, environ in ((path, {}), (None, {"TREERING_LLM_GGUF": path})):
        with pytest.raises(LLMNotConfigured):
            open_llm(spec, environ=environ)


def test_a_cut_off_model_cannot_be_loaded_and_ctrl_c_stays_pythons(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(b"GGUF\x03\0\0\0" + b"\0" * 100)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(LLMNotConfigured):
        open_llm(str(path), environ={})
    assert signal.getsignal(signal.SIGINT) is before
