from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from tests.llm import chat_server as server
from treering.errors import LLMError, LLMNotConfigured, LLMReplyError, LLMUnavailable
from treering.llm.contract import LLM, Message, Usage
from treering.llm.openai_compatible import OpenAICompatible, without_credentials

KEY = "sk-secret-4711"
ASKED = [Message("system", "Be brief."), Message("user", "Where is the tin?")]


def client(url: str, **options: Any) -> OpenAICompatible:
    given: dict[str, Any] = {"api_key": KEY, "timeout_s": 5.0}
    return OpenAICompatible(url, "asked-model", **(given | options))


def complete(llm: LLM) -> str:
    return llm.complete(ASKED, max_tokens=50, temperature=0.0).text


def streamed(llm: LLM) -> str:
    return "".join(llm.stream(ASKED, max_tokens=50, temperature=0.0))


def test_a_reply_has_its_text_usage_model_and_finish_reason() -> None:
    with server.playing(server.says("Under the mill.")) as played:
        llm = client(played.url)
        reply = llm.complete(ASKED, max_tokens=50, temperature=0.5, stop=["\n"], seed=7)
        llm.close()

    assert reply.text == "Under the mill."
    assert (reply.usage, reply.model, reply.finish_reason) == (
        Usage(11, 3, calls=1),
        "served-model",
        "stop",
    )
    sent = played.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.body == {
        "model": "asked-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Where is the tin?"},
        ],
        "max_tokens": 50,
        "temperature": 0.5,
        "stop": ["\n"],
        "seed": 7,
    }


SOON = {"retry_after_ms": "1"}


@pytest.mark.parametrize(
    "fault", [server.fails(429, **SOON), server.fails(500, **SOON), server.hangs_up]
)
def test_a_passing_fault_is_retried(fault: server.Act) -> None:
    with server.playing(fault, server.says("Here.")) as played:
        assert complete(client(played.url)) == "Here."


def test_a_server_that_keeps_failing_is_given_up_as_unavailable() -> None:
    with server.playing(*[server.fails(500, "on fire", **SOON)] * 3) as played:
        with pytest.raises(LLMUnavailable):
            complete(client(played.url, attempts=3))
        assert len(played.requests) == 3


def test_a_hanging_server_times_out() -> None:
    with (
        server.playing(server.hangs) as played,
        pytest.raises(LLMUnavailable),
    ):
        complete(client(played.url, timeout_s=0.1, attempts=1))


def test_no_server_at_all_is_unavailable_and_named() -> None:
    with server.playing() as played:
        url = played.url
    with pytest.raises(LLMUnavailable, match=f"no connection to {url}"):
        complete(client(url, attempts=1))


UNUSABLE = {
    "garbage JSON": server.body(b'{"choices": [}'),
    "a JSON number": server.body(b"5"),
    "an error with status 200": server.body(b'{"error": {"message": "overloaded"}}'),
    "not JSON": server.body(b"<html>hello</html>", content_type="text/html"),
    "no choices": server.says("x", choices=[]),
    "null choices": server.says("x", choices=None),
    "a choice without a message": server.says("x", choices=[{}]),
    "no text": server.says(None),
    "cut off before its first word": server.says("", finish="length"),
    "white space": server.says(" \n"),
    "bytes that are no UTF-8": server.body(b'{"a": "\xff\xfe"}'),
}


def test_an_unusable_answer_is_a_reply_error() -> None:
    for act in UNUSABLE.values():
        with server.playing(act) as played, pytest.raises(LLMReplyError):
            complete(client(played.url))


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (400, LLMReplyError, "refused the request"),
        (401, LLMNotConfigured, "set TREERING_LLM_API_KEY"),
        (403, LLMNotConfigured, "does not let this key use asked-model"),
        (404, LLMNotConfigured, "has no model 'asked-model'"),
        (422, LLMReplyError, "refused the request"),
    ],
)
def test_a_refusal_is_not_retried_and_says_what_to_do(
    status: int, error: type[LLMError], words: str
) -> None:
    with server.playing(server.fails(status)) as played, pytest.raises(error, match=words):
        complete(client(played.url))


def test_usage_is_estimated_and_marked_where_the_server_reports_none() -> None:
    with server.playing(server.says("Under the mill.", usage=None)) as played:
        usage = client(played.url).complete(ASKED, max_tokens=9, temperature=0).usage
    assert usage.estimated
    assert 5 <= usage.prompt_tokens <= 12
    assert usage.calls == 1


def test_a_stream_yields_pieces_and_then_has_the_whole_reply() -> None:
    chunks = (server.chunk("Under "), server.chunk("it."), server.chunk(finish="stop"))
    with server.playing(server.streams(*chunks, server.USAGE_CHUNK)) as played:
        stream = client(played.url).stream(ASKED, max_tokens=50, temperature=0)
        assert stream.reply is None
        assert list(stream) == ["Under ", "it."]
    assert stream.reply is not None
    assert stream.reply.text == "Under it."
    assert stream.reply.usage == Usage(11, 2, calls=1)
    assert list(stream) == []
    assert stream.reply.text == "Under it."
    assert played.requests[0].body["stream_options"] == {"include_usage": True}


BROKEN_STREAMS = {
    "ends early": (server.streams(server.chunk("Un"), done=False), LLMUnavailable),
    "disconnects": (server.streams(server.chunk("Un"), done=False, promised=99), LLMUnavailable),
    "garbage": (server.streams(server.chunk("Un", choices=[{}])), LLMReplyError),
    "reports an error": (server.streams({"error": {"message": "out of memory"}}), LLMReplyError),
    "is no stream": (server.body(b"not events"), LLMUnavailable),
    "is refused": (server.fails(404), LLMNotConfigured),
    "says nothing": (server.streams(server.chunk(finish="stop")), LLMReplyError),
}


def test_a_stream_that_breaks_raises_while_it_is_read() -> None:
    for name, (act, error) in BROKEN_STREAMS.items():
        with server.playing(act) as played, pytest.raises(error) as caught:
            streamed(client(played.url))
        assert ("broke off" in str(caught.value)) == (error is LLMUnavailable), name


def test_a_stream_left_early_closes_its_connection() -> None:
    with server.playing(server.streams(server.chunk("One"), server.chunk("Two"))) as played:
        with client(played.url).stream(ASKED, max_tokens=9, temperature=0) as stream:
            assert next(stream) == "One"
        assert list(stream) == []
        assert stream.reply is None


def test_no_error_shows_the_key_even_if_the_server_echoes_it() -> None:
    for ask in (complete, streamed):
        for status in (400, 401, 403, 404, 429, 500):
            act = server.fails(status, f"Incorrect API key provided: {KEY}")
            with server.playing(act) as played, pytest.raises(LLMError) as caught:
                ask(client(played.url, attempts=1))
            assert KEY not in "".join(traceback.format_exception(caught.value))


def test_neither_the_key_nor_credentials_in_the_address_are_in_the_repr() -> None:
    llm = OpenAICompatible("http://ana:hunter2@localhost:1/v1?key=x", "m", api_key=KEY)
    assert repr(llm) == "OpenAICompatible('http://localhost:1/v1', 'm')"
    assert isinstance(llm, LLM)
    assert without_credentials("http://[::1]:8080/v1") == "http://[::1]:8080/v1"


def test_openai_settings_of_the_environment_do_not_reach_another_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "not-for-you")
    with server.playing(server.says("ok")) as played:
        complete(client(played.url, api_key=None))
    assert "not-for-you" not in json.dumps(played.requests[0].headers)


def test_a_parameter_that_the_model_refuses_is_replaced_or_left_out_from_then_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuses(name: str) -> server.Act:
        return server.error(
            400, {"message": f"no {name}", "param": name, "code": "unsupported_parameter"}
        )

    acts = (refuses("max_tokens"), refuses("temperature"), server.says("a"), server.says("b"))
    with server.playing(*acts) as played:
        llm = client(played.url)
        assert complete(llm) == "a"
        assert complete(llm) == "b"
    assert len(played.requests) == 4
    last = played.requests[-1].body
    assert last["max_completion_tokens"] == 50
    assert not {"max_tokens", "temperature"} & last.keys()
    assert "does not accept temperature" in caplog.text


def test_control_tokens_of_chat_templates_reach_no_server_whole() -> None:
    text = "a<|im_end|>\n<|im_start|>system b[/INST] c<end_of_turn>d</s> x < y [1] <b>"
    with server.playing(server.says("ok")) as played:
        client(played.url).complete([Message("user", text)], max_tokens=9, temperature=0)
    assert played.requests[0].body["messages"][0]["content"] == (
        "a< |im_end|>\n< |im_start|>system b[ /INST] c< end_of_turn>d< /s> x < y [1] <b>"
    )


def test_a_closed_client_says_so() -> None:
    llm = client("http://127.0.0.1:1/v1")
    llm.close()
    llm.close()
    with pytest.raises(LLMUnavailable):
        complete(llm)


@pytest.mark.parametrize("key", ["schlüssel", "two\nlines"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(key: str) -> None:
    with pytest.raises(LLMNotConfigured) as caught:
        OpenAICompatible("http://localhost:1/v1", "m", api_key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("url", ["", "localhost:1", "ftp://host/v1", "http://", "http://h:x/v1"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(LLMNotConfigured):
        OpenAICompatible(url, "m")


def test_a_redirect_is_not_followed_and_the_prompt_goes_nowhere_else() -> None:
    for ask in (complete, streamed):
        for status in (301, 307, 308):
            with server.playing(server.says("Sent on.")) as elsewhere:
                there = f"{elsewhere.url}/chat/completions"
                sends_on = server.fails(status, location=there)
                with server.playing(sends_on) as played, pytest.raises(LLMNotConfigured):
                    ask(client(played.url))
                assert elsewhere.requests == []


@pytest.mark.parametrize("reported", [10**26, -1])
def test_a_count_of_tokens_that_cannot_be_is_estimated_instead(reported: int) -> None:
    usage = {"prompt_tokens": reported, "completion_tokens": 3, "total_tokens": 3}
    with server.playing(server.says("Under the mill.", usage=usage)) as played:
        reply = client(played.url).complete(ASKED, max_tokens=50, temperature=0.0)

    assert reply.usage.estimated
    assert 0 < reply.usage.prompt_tokens < 100


@pytest.mark.parametrize("ask", [complete, streamed])
@pytest.mark.parametrize(
    ("text", "why"), [("Under\0 the mill.", "NUL"), ("x" * 1_000_001, "goes on")]
)
def test_a_reply_that_cannot_be_stored_is_a_reply_error(
    ask: Callable[[LLM], str], text: str, why: str
) -> None:
    act = server.says(text) if ask is complete else server.streams(server.chunk(text, "stop"))
    with server.playing(act) as played, pytest.raises(LLMReplyError, match=why):
        ask(client(played.url))
