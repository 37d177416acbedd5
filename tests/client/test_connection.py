from __future__ import annotations

from collections.abc import Iterable

import httpx2
import pytest

from treering import errors
from treering.client.connection import ATTEMPTS, Connection, error_of
from treering.client.memory import RemoteMemory
from treering.errors import ServerError, ServerUnavailable
from treering.records import Receipt

RECEIPT = b'{"ids": ["a"]}'


class Server:
    """Gives responses in order and notes the requests and the pauses between them."""

    def __init__(self, responses: Iterable[httpx2.Response]) -> None:
        self.responses = iter(responses)
        self.requests: list[httpx2.Request] = []
        self.pauses: list[float] = []
        transport = httpx2.MockTransport(self.respond)
        self.connection = Connection(
            "http://memory.test/", None, "tr_key", transport, self.pauses.append
        )

    def respond(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return next(self.responses)


def busy(status: int = 503, wait: str | None = None) -> httpx2.Response:
    headers = {"Retry-After": wait} if wait else {}
    return httpx2.Response(status, headers=headers, json={"type": "about:blank", "detail": "busy"})


def test_a_busy_server_is_asked_again() -> None:
    server = Server([busy(wait="3"), busy(429), httpx2.Response(201, content=RECEIPT)])
    found = server.connection.send(Receipt, "POST", "/entries", {"text": "x"})
    assert found == Receipt(ids=("a",))
    assert server.pauses == [3.0, 1.0]
    assert {one.content for one in server.requests} == {b'{"text":"x"}'}
    assert {one.headers["authorization"] for one in server.requests} == {"Bearer tr_key"}


def test_a_chat_that_is_sent_again_is_marked_as_the_same_one() -> None:
    answer = (
        b'{"text": "Hello.", "usage": {"prompt_tokens": 1, "completion_tokens": 1}, "model": ""}'
    )
    responses = [busy(), httpx2.Response(200, content=answer)]
    server = Server([*responses, *responses])
    memory = RemoteMemory(server.connection)
    memory.chat("I am Ana.")
    memory.chat("I am Ana.")
    first, again, second, _ = (one.headers["idempotency-key"] for one in server.requests)
    assert first == again != second


def test_one_that_stays_busy_is_given_up_on() -> None:
    server = Server(busy() for _ in range(ATTEMPTS))
    with pytest.raises(ServerUnavailable):
        server.connection.get(Receipt, "/stats")
    assert len(server.pauses) == ATTEMPTS - 1


def test_one_that_asks_for_a_long_wait_is_not_waited_for() -> None:
    server = Server([busy(429, "600")])
    with pytest.raises(ServerUnavailable):
        server.connection.get(Receipt, "/stats")
    assert server.pauses == []


def test_what_is_no_treering_server_is_told() -> None:
    server = Server([httpx2.Response(200, text="<html>")])
    with pytest.raises(ServerError, match="another form than expected"):
        server.connection.get(Receipt, "/stats")


def test_parameters_are_sent_as_the_server_reads_them() -> None:
    server = Server([httpx2.Response(200, content=RECEIPT)])
    params = {"source": "a&b", "speaker": None, "metadata": {"a": 1}, "omit": {"x"}}
    server.connection.get(Receipt, "/entries", params)
    assert dict(server.requests[0].url.params) == {
        "source": "a&b",
        "metadata": '{"a": 1}',
        "omit": "x",
    }


def test_what_is_no_problem_is_told_by_its_status() -> None:
    cases = [
        (413, b"<html>", ServerError),
        (502, b"Bad Gateway", ServerError),
        (429, b"{}", ServerUnavailable),
        (500, b'{"type": "urn:x:error:MissingExtra.of", "detail": "x"}', ServerError),
        (500, b'{"type": "urn:x:error:annotations", "detail": "x"}', ServerError),
        (404, b"[]", errors.UnknownName),
    ]
    for status, body, kind in cases:
        assert type(error_of(status, body)) is kind
