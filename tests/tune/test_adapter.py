"""A random adapter, written into a GGUF file and opened by llama.cpp beside its model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("gguf", reason="needs the extra 'tune'")
pytest.importorskip("xllamacpp", reason="needs the extra 'local'")

import gguf

from tests.llm.tiny_gguf import CONTEXT, HEADS, HIDDEN, WIDTH, write_tiny_model
from tests.tune.full_disk import files_of_at_most
from treering.errors import InputError, LLMNotConfigured
from treering.llm.contract import LLM, Message, memo_model
from treering.llm.local import LocalLLM
from treering.llm.scripted import FakeLLM
from treering.llm.settings import open_llm
from treering.tune.adapter import LowRank, ModelFacts, model_facts, write_adapter

RANK = 4
SIZES = {
    **{f"self_attn.{name}_proj": (WIDTH, WIDTH) for name in "qkvo"},
    **{f"mlp.{name}_proj": (WIDTH, HIDDEN) for name in ("gate", "up")},
    "mlp.down_proj": (HIDDEN, WIDTH),
}
HELLO = [Message("user", "hello")]


def changes(seed: int = 0) -> dict[str, LowRank]:
    rng = np.random.default_rng(seed)

    def random(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    return {
        f"layers.0.{name}": LowRank(random(RANK, wide), random(out, RANK))
        for name, (wide, out) in SIZES.items()
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapter")
    model = write_tiny_model(folder / "tiny.gguf")
    write_adapter(folder / "memos.gguf", model_facts(model), changes(), 8.0)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[LocalLLM]:
    opened = LocalLLM(
        folder / "tiny.gguf",
        context_window=CONTEXT,
        threads=1,
        memo_adapter=folder / "memos.gguf",
    )
    with closing(opened):
        yield opened


def reply(llm: LLM) -> str:
    return llm.complete(HELLO, max_tokens=12, temperature=0.0).text


def test_the_adapter_serves_memo_prompts_and_no_others(model: LocalLLM, folder: Path) -> None:
    with closing(LocalLLM(folder / "tiny.gguf", context_window=CONTEXT, threads=1)) as alone:
        plain = reply(alone)
        assert memo_model(alone) is alone
    assert reply(model) == plain
    tuned = reply(model.for_memos)
    assert tuned != plain
    assert reply(model) == plain
    assert reply(model.for_memos) == tuned


def test_what_writes_memos_is_named_after_both_files(model: LocalLLM) -> None:
    writer = memo_model(model)
    assert (writer.model, writer.context_window) == ("tiny+memos", CONTEXT)
    assert writer.count_tokens("hello") == model.count_tokens("hello")
    assert writer.complete(HELLO, max_tokens=2, temperature=0.0).model == "tiny+memos"
    writer.close()  # it has only borrowed the model
    assert reply(model)


def test_a_model_without_an_adapter_writes_memos_itself() -> None:
    llm = FakeLLM([])
    assert memo_model(llm) is llm


def test_queries_and_keys_are_stored_in_the_order_of_llama() -> None:
    path_order = np.arange(WIDTH, dtype=np.float32)[:, None]
    head = path_order[: WIDTH // HEADS].reshape(2, -1).T.reshape(-1)  # halves, interleaved
    from treering.tune import adapter

    facts = ModelFacts("llama", 1, {"attn_q": HEADS, "attn_k": HEADS})
    assert adapter._as_llama(path_order, facts, "attn_q")[: WIDTH // HEADS, 0].tolist() == (
        head.tolist()
    )


def test_the_adapter_of_the_environment_is_opened(folder: Path, tmp_path: Path) -> None:
    environ = {
        "TREERING_LLM_GGUF": str(folder / "tiny.gguf"),
        "TREERING_LLM_CONTEXT_WINDOW": str(CONTEXT),
        "TREERING_MEMO_ADAPTER": str(folder / "memos.gguf"),
    }
    with closing(open_llm(environ=environ)) as opened:
        assert memo_model(opened).model == "tiny+memos"
    environ["TREERING_MEMO_ADAPTER"] = str(tmp_path / "absent.gguf")
    with pytest.raises(LLMNotConfigured):
        open_llm(environ=environ)


def test_an_adapter_of_another_model_is_refused_with_what_to_do(
    folder: Path, tmp_path: Path
) -> None:
    facts = ModelFacts("qwen2", 1, {"attn_q": HEADS, "attn_k": HEADS})
    write_adapter(tmp_path / "other.gguf", facts, changes(), 8.0)
    with pytest.raises(LLMNotConfigured):
        LocalLLM(folder / "tiny.gguf", threads=1, memo_adapter=tmp_path / "other.gguf")


@pytest.mark.parametrize(("architecture", "key_heads"), [("mamba", 4), ("llama", [4, 2])])
def test_a_model_of_another_architecture_or_of_uneven_heads_cannot_be_tuned(
    tmp_path: Path, architecture: str, key_heads: int | list[int]
) -> None:
    writer = gguf.GGUFWriter(tmp_path / "other.gguf", architecture)
    writer.add_block_count(2)
    writer.add_head_count(4)
    writer.add_head_count_kv(key_heads)
    for step in (writer.write_header_to_file, writer.write_kv_data_to_file):
        step()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(LLMNotConfigured):
        model_facts(tmp_path / "other.gguf")


def test_a_map_that_the_model_has_not_and_a_place_that_cannot_be_written_are_named(
    folder: Path, tmp_path: Path
) -> None:
    facts = model_facts(folder / "tiny.gguf")
    strange = {"layers.7.mlp.up_proj": changes()["layers.0.mlp.up_proj"]}
    with pytest.raises(LLMNotConfigured):
        write_adapter(tmp_path / "a.gguf", facts, strange, 8.0)
    with files_of_at_most(10), pytest.raises(InputError, match="make room there"):
        write_adapter(tmp_path / "a.gguf", facts, changes(), 8.0)
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        write_adapter(tmp_path / "file" / "a.gguf", facts, changes(), 8.0)
