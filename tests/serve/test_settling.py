from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from starlette.testclient import TestClient

from tests.embedders import HashingEmbedder, down
from tests.memo.talk import messages
from tests.memo.test_settle import one_topic
from tests.postgres_server import new_schema
from tests.raised import raises
from tests.serve.conftest import Serve
from treering.arrays import Floats
from treering.errors import LLMNotConfigured, LLMUnavailable, ServerUnavailable
from treering.llm.scripted import FakeLLM, Request
from treering.serve import spaces
from treering.serve.app import create_app
from treering.serve.settings import ServerSettings
from treering.serve.settling import AGAIN_S, IDLE_S, IdleSettler, Settling
from treering.serve.spaces import Tenant

WAIT_S = 30


@pytest.fixture
def go() -> threading.Event:
    return threading.Event()


@pytest.fixture
def client(serve: Serve, go: threading.Event) -> TestClient:
    """A server whose embedder was down when something was added, and now takes its time."""
    embedder = HashingEmbedder()
    found = serve(embedder=embedder)
    found.post("/v1/entries", json={"text": "Ana moved to Porto."})
    embedder.tamper = down
    assert found.post("/v1/entries", json={"text": "Ben keeps bees."}).json()["pending"] == 1

    def slowly(_: Sequence[str], vectors: Floats) -> Floats:
        assert go.wait(WAIT_S)
        return vectors

    embedder.tamper = slowly
    return found


def test_work_that_takes_long_goes_on_and_whoever_asks_again_joins_it(
    client: TestClient, go: threading.Event
) -> None:
    found = client.post("/v1/settle", params={"wait": 0.05})
    assert found.status_code == 202
    assert found.json()["settling"] is True
    assert sum(found.json()["pending"].values()) > 0
    assert client.get("/v1/pending").json()["settling"] is True
    go.set()
    settled = client.post("/v1/settle")
    assert (settled.status_code, settled.json()["pending"]) == (200, {})
    assert client.get("/v1/pending").json() == {"pending": {}, "told": {}, "settling": False}


def test_an_upgrade_waits_for_its_turn_and_is_not_taken_for_done() -> None:
    done: list[bool] = []
    first = asyncio.Event()

    class Slow:
        space = "ana"
        memory = SimpleNamespace(settle=None)

        async def run(self, _kind: str, _work: object, _step: object, *, upgrade: bool) -> str:
            if not upgrade:
                await first.wait()
            done.append(upgrade)
            return f"upgrade: {upgrade}"

    async def test() -> None:
        settling, tenant = Settling(), cast(Tenant, Slow())
        assert await settling.settle(tenant, 0, upgrade=False) is None
        assert await settling.settle(tenant, 0, upgrade=True) is None
        first.set()
        found = await settling.settle(tenant, WAIT_S, upgrade=True)
        assert cast(object, found) == "upgrade: True"
        assert done == [False, True]
        assert not settling.at_work("ana")

    asyncio.run(test())


def test_what_stands_in_the_way_is_told(serve: Serve) -> None:
    embedder = HashingEmbedder()
    client = serve(embedder=embedder)
    embedder.tamper = down
    client.post("/v1/entries", json={"text": "Ana moved to Porto."})
    found = client.post("/v1/settle")
    assert (found.status_code, found.json()["detail"]) == (502, "connection refused")
    assert client.get("/v1/pending").json()["settling"] is False


def test_a_server_that_stops_ends_it_between_two_steps() -> None:
    settling = Settling()
    settling._go_on_unless_stopping(1, 5)
    settling.stop()
    with pytest.raises(ServerUnavailable):
        settling._go_on_unless_stopping(1, 5)


# ------------------------------------------------------------------ while no request runs


class Clock:
    """A clock that only a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, 23, tzinfo=UTC)

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def idle_settler(client: TestClient, tokens: int, clock: Clock) -> IdleSettler:
    settler: IdleSettler = client.app.state.idle  # type: ignore[attr-defined]
    settler.tokens, settler.now = tokens, lambda: clock.now
    with settler.during_request("GET", "/v1/stats"):
        return settler


def look(client: TestClient, settler: IdleSettler) -> str | None:
    assert client.portal is not None
    return client.portal.call(settler.settle_next)


def figure(client: TestClient, name: str) -> float:
    found = re.search(rf"^treering_{name} (\S+)", client.get("/metrics").text, re.MULTILINE)
    assert found
    return float(found[1])


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_pending_work_is_done_while_idle_within_the_tokens_of_a_day(
    serve: Serve, path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = path if engine == "sqlite" else new_schema()
    clock, llm = Clock(), FakeLLM(one_topic)
    monkeypatch.setattr(spaces, "today", lambda: clock.now.toordinal())
    client = serve(url=url, llm=llm)
    settler = idle_settler(client, 1, clock)
    client.post("/v1/entries", json={"messages": messages(60), "source": "chat"})
    assert look(client, settler) is None  # a request came just now
    clock.wait(IDLE_S)
    assert look(client, settler) is None
    assert len(llm.requests) == 1  # the step that spent the tokens
    [cost] = client.get("/v1/stats").json()["spent"]
    spent = cost["prompt_tokens"] + cost["completion_tokens"]
    assert figure(client, "settle_tokens_today") == spent
    again = serve(url=url, llm=llm)
    other = idle_settler(again, spent, clock)
    clock.wait(IDLE_S)
    assert look(again, other) is None
    assert len(llm.requests) == 1  # another server of the memory, such as after a restart
    clock.wait(3_600)
    other.tokens = 10**6
    assert look(again, other) == "default"
    due = len(llm.requests)
    assert due > 1
    assert look(again, other) is None
    again.post("/v1/settle")
    assert len(llm.requests) == due
    assert 0 < figure(again, "settle_tokens_today") < 10**6


def test_a_request_ends_it_between_two_steps_and_settles_in_turn(serve: Serve) -> None:
    clock, asked = Clock(), list[int]()

    def interrupt(_: Request) -> None:
        if not asked:
            asked.append(opened.post("/v1/settle", params={"wait": 0}).status_code)

    llm = FakeLLM(one_topic, before_reply=interrupt)
    opened = serve(llm=llm)
    settler = idle_settler(opened, 10**6, clock)
    opened.post("/v1/entries", json={"messages": messages(60), "source": "chat"})
    clock.wait(IDLE_S)
    assert look(opened, settler) is None
    assert asked == [202]
    assert len(llm.requests) == 1
    assert opened.post("/v1/settle").status_code == 200
    assert len(llm.requests) > 1


def test_monitors_and_open_streams_do_not_keep_a_server_busy(client: TestClient) -> None:
    clock = Clock()
    settler = idle_settler(client, 1, clock)
    client.get("/v1/stats")
    assert not settler.is_idle
    clock.wait(IDLE_S)
    for path in ("/metrics", "/healthz", "/readyz"):
        client.get(path)
    assert settler.is_idle
    with settler.during_request("GET", "/mcp"):
        assert not settler.is_idle
        clock.wait(IDLE_S)
        assert settler.is_idle
    with settler.during_request("POST", "/mcp"):
        clock.wait(IDLE_S)
        assert not settler.is_idle
    assert not settler.is_idle


def test_work_that_fails_holds_up_no_other_space_and_is_tried_again_later(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    llm = FakeLLM(lambda _: LLMUnavailable("the reply was zebrafinch"))
    client = serve(llm=llm)
    settler = idle_settler(client, 10**6, clock)
    talk = {"messages": messages(), "source": "chat"}
    for space in ("ana", "ben"):
        client.post("/v1/entries", json=talk, headers={"X-Treering-Space": space})
    clock.wait(IDLE_S)
    looks = [look(client, settler) for _ in range(6)]
    assert len([name for name in looks if name]) <= 4
    tries = len(llm.requests)
    assert tries >= 2
    assert look(client, settler) is None
    assert len(llm.requests) == tries
    clock.wait(AGAIN_S + 1)
    look(client, settler)
    assert len(llm.requests) > tries
    assert "zebrafinch" not in caplog.text


def test_without_a_model_there_is_nothing_to_spend(path: Path, no_llm: None) -> None:
    with raises(LLMNotConfigured):
        create_app(ServerSettings(path, settle_tokens=1))
