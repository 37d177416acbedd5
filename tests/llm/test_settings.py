from __future__ import annotations

from pathlib import Path

import pytest

from tests.llm import chat_server as server
from tests.plugins import install
from tests.raised import raises
from treering.errors import LLMNotConfigured, UnknownName
from treering.hints import Hint
from treering.llm.contract import LLM, Message
from treering.llm.scripted import FakeLLM
from treering.llm.settings import open_llm


def told(llm: LLM) -> None:
    llm.complete([Message("user", "hi")], max_tokens=9, temperature=0)
    llm.close()


def test_a_model_object_is_used_as_it_is() -> None:
    llm = FakeLLM([])
    assert open_llm(llm, environ={}) is llm


def test_an_address_names_server_and_model() -> None:
    with server.playing(server.says("ok")) as played:
        told(open_llm(f"{played.url}#qwen2.5:7b", environ={"TREERING_LLM_API_KEY": "k1"}))
    assert played.requests[0].body["model"] == "qwen2.5:7b"
    assert played.requests[0].headers["authorization"] == "Bearer k1"


def test_the_environment_names_server_model_key_and_window() -> None:
    with server.playing(server.says("ok")) as played:
        llm = open_llm(
            environ={
                "TREERING_LLM_BASE_URL": played.url,
                "TREERING_LLM_MODEL": "m",
                "TREERING_LLM_API_KEY": "k1",
                "TREERING_LLM_CONTEXT_WINDOW": "32768",
                "OPENAI_API_KEY": "not-this",
            }
        )
        told(llm)
    assert (llm.model, llm.context_window) == ("m", 32768)
    assert played.requests[0].headers["authorization"] == "Bearer k1"


@pytest.mark.parametrize("is_openai", [True, False])
def test_openais_key_goes_to_openais_base_url_and_to_no_other_server(is_openai: bool) -> None:
    with server.playing(server.says("ok")) as played:
        environ = {"OPENAI_API_KEY": "k2", "TREERING_LLM_MODEL": "m"}
        if is_openai:
            told(open_llm(environ=environ | {"OPENAI_BASE_URL": played.url}))
        else:
            told(open_llm(played.url, environ=environ))
    assert ("k2" in played.requests[0].headers["authorization"]) == is_openai


def test_openais_key_and_a_model_mean_openai() -> None:
    llm = open_llm(environ={"OPENAI_API_KEY": "k2", "TREERING_LLM_MODEL": "gpt-4o-mini"})
    assert repr(llm) == "OpenAICompatible('https://api.openai.com/v1', 'gpt-4o-mini')"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OPENAI_API_KEY": "k2"},
        {"OPENAI_API_KEY": "k2", "OPENAI_BASE_URL": "http://localhost:1/v1"},
        {"TREERING_LLM_MODEL": "m"},
        {"TREERING_LLM_BASE_URL": "", "TREERING_LLM_GGUF": ""},
    ],
)
def test_nothing_configured_says_exactly_what_to_set(environ: dict[str, str]) -> None:
    with pytest.raises(LLMNotConfigured) as caught:
        open_llm(environ=environ)
    for way in ("TREERING_LLM_BASE_URL=", "TREERING_LLM_MODEL=", "TREERING_LLM_GGUF=", "llm="):
        assert way in str(caught.value)
    assert "k2" not in str(caught.value)


def test_none_is_no_model_whatever_the_environment_names() -> None:
    with raises(LLMNotConfigured, hint=Hint.CHOOSE_LLM):
        open_llm("none", environ={"TREERING_LLM_BASE_URL": "http://localhost:1/v1#m"})


SERVER = "http://ana:pw@localhost:1/v1"


@pytest.mark.parametrize(
    ("spec", "environ"),
    [
        (SERVER, {}),  # without a model
        (None, {"TREERING_LLM_GGUF": "m.gguf", "TREERING_LLM_BASE_URL": SERVER}),
        (f"{SERVER}#m", {"TREERING_LLM_CONTEXT_WINDOW": "many"}),
        (f"{SERVER}#m", {"TREERING_LLM_CONTEXT_WINDOW": "0"}),
        (f"{SERVER}#m", {"TREERING_LLM_CONTEXT_WINDOW": "-1"}),
        (None, {"TREERING_LLM_GGUF": "m.gguf", "TREERING_LLM_THREADS": "all"}),
    ],
)
def test_a_configuration_that_names_no_one_model_is_refused(
    spec: str | None, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.gguf").write_bytes(b"GGUF")
    with pytest.raises(LLMNotConfigured) as caught:
        open_llm(spec, environ=environ)
    assert "pw" not in str(caught.value)


def test_an_unknown_name_lists_what_may_be_given() -> None:
    with pytest.raises(UnknownName, match=r"'clippy' .* give a \*\.gguf path or an address"):
        open_llm("clippy", environ={})


def test_a_model_of_another_package_is_found_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(
        monkeypatch,
        tmp_path,
        "echo_llm",
        "from treering.llm.scripted import FakeLLM\n"
        "def make(model):\n    return FakeLLM(['hello'], model=model or 'default')\n",
        "[treering.llms]\necho = echo_llm:make\n",
    )
    assert open_llm("echo", environ={}).model == "default"
    assert open_llm("echo#large", environ={}).model == "large"
