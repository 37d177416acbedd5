"""Several spaces in one request: only a key that opens them all may ask, or share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from starlette.testclient import TestClient

from tests.conftest import Open
from tests.serve.conftest import MakeKey, Serve, bearer
from tests.serve.test_mcp import prompted, refused, said
from treering.serve.mcp.server import asks_only, build, calls_on

ANA, TEAM = {"X-Treering-Space": "ana"}, {"X-Treering-Space": "team"}
BOTH = ["ana", "team"]


def add(client: TestClient, headers: dict[str, str], text: str) -> str:
    reply = client.post("/v1/entries", json={"text": text}, headers=headers)
    return str(reply.json()["ids"][0])


@pytest.fixture
def filled(serve: Serve) -> tuple[TestClient, str]:
    client = serve()
    entry = add(client, ANA, "I moved to Porto in May.")
    add(client, TEAM, "The office in Porto opens in June.")
    return client, entry


def test_a_key_asks_and_shares_with_its_own_spaces_alone(
    filled: tuple[TestClient, str], make_key: MakeKey, serve: Serve
) -> None:
    _, entry = filled
    key = bearer(make_key("ana"))
    client = serve()
    requests: list[tuple[str, dict[str, Any]]] = [
        ("/v1/search", {"query": "Porto"}),
        ("/v1/search-many", {"queries": ["Porto"]}),
        ("/v1/context", {"query": "Porto"}),
        ("/v1/ask", {"question": "Porto?"}),
        ("/v1/chat", {"message": "Porto?"}),
        ("/v1/chat/prompt", {"message": "Porto?"}),
    ]
    for path, body in requests:
        for other in ("team", "tema"):  # it does not say whether a space exists
            reply = client.post(path, json=body | {"spaces": ["ana", other]}, headers=key)
            assert (reply.status_code, reply.json()["code"]) == (403, "access_denied"), path
    reply = client.post("/v1/share", json={"ids": [entry], "to": "team"}, headers=key)
    assert reply.status_code == 403
    own = client.post("/v1/search", json={"query": "Porto", "spaces": ["ana"]}, headers=key)
    assert own.json() == client.post("/v1/search", json={"query": "Porto"}, headers=key).json()


def test_a_model_recalls_from_the_spaces_that_its_user_named(open_memory: Open) -> None:
    ana, team = open_memory(space="ana"), open_memory(space="team")
    ana.add("I moved to Porto in May.")
    team.add("The office in Porto opens in June.")
    open_memory(space="ben").add("Ben left Porto.")

    async def session(spaces: list[str] | None) -> tuple[str, str]:
        async with anyio.create_task_group() as tasks:
            server = build(calls_on(ana), Path, tasks.start_soon, asks_only(spaces))
            async with Client(server) as client:
                recalled = await said(client, "recall", query="Porto")
                assert recalled in await prompted(client, "recall", query="Porto")
                refusal = await refused(client, "recall", query="Porto", spaces=["ben"])
        return recalled, refusal

    recalled, refusal = anyio.run(session, BOTH)
    assert "May" in recalled
    assert "June" in recalled
    assert "Ben left" not in refusal
    recalled, _ = anyio.run(session, None)
    assert "June" not in recalled
