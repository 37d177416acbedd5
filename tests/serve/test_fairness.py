"""One space cannot take the threads from the others."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from sqlite3 import connect
from typing import Any

import httpx2
import pytest

from tests.serve.conftest import Serve
from tests.serve.live import serving
from treering.journal import entries
from treering.llm.scripted import FakeLLM, Line, Request
from treering.serve.problems import StopMiddleware
from treering.serve.threads import THREADS, Kind, Threads

WAIT_S = 30


@pytest.mark.parametrize("kind", ["write", "wait"])
def test_a_model_that_hangs_does_not_keep_the_server_from_stopping(kind: Kind) -> None:
    go, begun = threading.Event(), threading.Event()

    def hang() -> str:
        begun.set()
        assert go.wait(WAIT_S)
        return "late"

    async def test() -> None:
        threads = Threads()
        written = asyncio.create_task(threads.run("write", partial(lambda: "written")))
        hanging = asyncio.create_task(threads.run(kind, partial(hang)))
        assert await asyncio.to_thread(begun.wait, WAIT_S)
        assert await written == "written"
        assert await asyncio.to_thread(threads.close, 0.05) == 1
        go.set()
        assert await hanging == "late"
        assert threads.close() == 0

    asyncio.run(test())


def test_a_request_that_is_given_up_is_answered_with_what_may_have_become_of_it() -> None:
    sent: list[Any] = []

    async def hang(*_: Any) -> None:
        await asyncio.Event().wait()

    async def receive() -> Any:
        raise AssertionError("nobody reads the request")

    async def send(message: Any) -> None:
        sent.append(message)

    async def test() -> None:
        request = asyncio.ensure_future(StopMiddleware(hang)({"type": "http"}, receive, send))
        await asyncio.sleep(0)
        request.cancel()
        await request

    asyncio.run(test())
    start, body = sent
    assert start["status"] == 503
    assert b"retry-after" in dict(start["headers"])
    problem = json.loads(body["body"])
    assert problem["code"] == "server_unavailable"
    assert "may be done or not" in problem["detail"]


def test_a_space_whose_model_hangs_leaves_threads_to_the_others(serve: Serve) -> None:
    go = threading.Event()

    def reply(request: Request) -> Line:
        if "Ana" in request.messages[-1].content:
            assert go.wait(WAIT_S)
        return "Hello."

    client = serve(llm=FakeLLM(reply))
    crowd = THREADS["wait"] + 4

    def chat(number: int) -> int:
        said = {"message": f"I am Ana {number}.", "source": f"chat {number}"}
        return client.post("/v1/chat", json=said, headers={"X-Treering-Space": "ana"}).status_code

    with ThreadPoolExecutor(crowd) as threads:
        waiting = [threads.submit(chat, number) for number in range(crowd)]
        ben = {"X-Treering-Space": "ben"}
        said = client.post("/v1/chat", json={"message": "I am Ben."}, headers=ben)
        assert said.json()["text"] == "Hello."
        assert not any(one.done() for one in waiting)
        go.set()
        assert {one.result(WAIT_S) for one in waiting} == {200}


def test_what_has_expired_is_not_erased_where_all_requests_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + timedelta(days=1)

    with (
        serving(url=path) as url,
        ThreadPoolExecutor(1) as threads,
        closing(connect(path)) as other,
    ):
        soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        added = httpx2.post(f"{url}/v1/entries", json={"text": "For an hour.", "expires": soon})
        assert added.status_code == 201
        monkeypatch.setattr(entries, "datetime", Tomorrow)
        other.execute("BEGIN IMMEDIATE")
        asked = threads.submit(httpx2.get, f"{url}/v1/memos", timeout=WAIT_S)
        with suppress(TimeoutError):
            asked.result(0.2)  # time enough to reach the server
        health = httpx2.get(f"{url}/healthz", timeout=WAIT_S / 3)
        other.rollback()
        assert health.status_code == 200
        assert asked.result(WAIT_S).status_code == 200
