from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest
from starlette.testclient import TestClient

from tests.embedders import HashingEmbedder, down
from tests.serve.conftest import Serve
from treering.arrays import Floats
from treering.errors import ServerUnavailable
from treering.serve.settling import Settling
from treering.serve.tenant import Tenant

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

        async def call_slow(self, _work: object, _progress: object, *, upgrade: bool) -> str:
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
