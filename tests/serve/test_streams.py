"""Chats that are streamed to clients that leave."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.serve.live import serving
from treering.llm.contract import Reply, ReplyStream, Usage
from treering.llm.scripted import FakeLLM

WAIT_S = 30
UNDER_WAY = "treering_http_requests_under_way "


class Pausing(FakeLLM):
    """Says one piece, and the other once it is let go on."""

    def __init__(self) -> None:
        super().__init__([])
        self.go, self.ended = threading.Event(), threading.Event()

    def stream(self, *_: Any, **__: Any) -> ReplyStream:
        return ReplyStream(self._pieces())

    def _pieces(self) -> Generator[str, None, Reply]:
        try:
            yield "Hello, "
            assert self.go.wait(WAIT_S)
            yield "Ana."
            return Reply("Hello, Ana.", Usage(), "pausing", "stop")
        finally:
            self.ended.set()


@pytest.fixture
def llm() -> Pausing:
    return Pausing()


@pytest.fixture
def client(path: Path, llm: Pausing) -> Iterator[httpx2.Client]:
    with serving(url=path, llm=llm) as url, httpx2.Client(base_url=url, timeout=WAIT_S) as found:
        yield found
        llm.go.set()


def said(client: httpx2.Client) -> list[str]:
    return [one["text"] for one in client.get("/v1/entries").json()["entries"]]


def until(condition: Callable[[], bool]) -> None:
    """Ask until something has happened."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end


def test_pieces_arrive_as_they_are_written(client: httpx2.Client, llm: Pausing) -> None:
    wanted = {"message": "I am Ana.", "stream": True}
    with client.stream("POST", "/v1/chat", json=wanted) as response:
        lines = response.iter_lines()
        assert next(lines) == 'data: {"text":"Hello, "}'
        assert said(client) == ["I am Ana."]
        llm.go.set()
        assert "event: done" in list(lines)
    assert said(client) == ["I am Ana.", "Hello, Ana."]


def test_a_client_that_leaves_stops_the_model(client: httpx2.Client, llm: Pausing) -> None:
    wanted = {"message": "I am Ana.", "stream": True}
    with client.stream("POST", "/v1/chat", json=wanted) as response:
        next(response.iter_lines())
    until(lambda: f"{UNDER_WAY}1.0" in client.get("/metrics").text)  # that one itself
    llm.go.set()
    assert llm.ended.wait(WAIT_S)
    assert said(client) == ["I am Ana."]
