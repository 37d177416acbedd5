"""The example of two people and a team: over REST with keys, over MCP with sign-in."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from examples.team import play, recall
from tests.raised import raises
from tests.serve import live
from tests.serve.issuer import LocalIssuer, issuing
from tests.serve.test_mcp import refused, said
from tests.serve.test_sign_in import signed_in
from treering import Memory
from treering.errors import AccessDenied
from treering.journal.open import open_database
from treering.serve import keys

PRIVATE = {"ana": "I want to ask for a raise in May.", "ben": "I applied at another studio."}
SHARED = ["The client in Porto pays within thirty days.", "The studio delivers on Fridays."]
GRANTS = ("sub=* full user-{}", "groups=crew read,add team")


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalIssuer]:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with issuing() as running:
        running.claims["groups"] = ["crew"]
        yield running


@pytest.fixture
def url(issuer: LocalIssuer, path: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    issuer.resource = f"http://127.0.0.1:{port}/mcp"
    options = {"issuer": issuer.url, "resource": issuer.resource, "grants": GRANTS}
    with live.serving(url=path, port=port, **options) as url:
        yield url


def make_key(path: Path, grants: dict[str, list[str]]) -> str:
    with closing(open_database(path)) as database:
        (space, roles), *others = grants.items()
        text, key = keys.add(database, space, roles=roles)
        for space, roles in others:
            keys.extend(database, key.id, space, roles)
    return text


def test_two_people_and_a_team(
    issuer: LocalIssuer, url: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ana = make_key(path, {"user-ana": ["full"], "team": ["full"]})
    ben = make_key(path, {"user-ben": ["full"], "team": ["read", "add"]})
    play(url, ana, ben)
    found = capsys.readouterr().out.splitlines()
    for name, own in PRIVATE.items():
        seen = [line for line in found if line.startswith(f"{name} finds")]
        assert {line.partition(": ")[2] for line in seen} == {own, *SHARED}

    with Memory.open(url, space="user-ana", api_key=ben) as spied, raises(AccessDenied):
        spied.search("raise", spaces=["user-ben", "user-ana"])
    reader, writer = make_key(path, {"team": ["read"]}), make_key(path, {"team": ["add"]})
    with Memory.open(url, space="team", api_key=reader) as team, raises(AccessDenied):
        team.add("A reader changes nothing.")
    with Memory.open(url, space="team", api_key=writer) as team, raises(AccessDenied):
        team.search("Friday")
    with Memory.open(url, space="team", api_key=ana) as lead:
        assert sorted(entry.text for entry in lead.entries()) == sorted(SHARED)

    async def sign_in() -> None:
        for name, own in PRIVATE.items():
            issuer.signs_in = name
            told = await recall(url, name, signed_in(url))
            assert all(text in told for text in (own, *SHARED))
            other = "ben" if name == "ana" else "ana"
            assert PRIVATE[other] not in told
            assert PRIVATE[other] not in await recall(url, other, signed_in(url))

    anyio.run(sign_in)


def test_a_user_who_signs_in_for_the_first_time_finds_nothing_and_proposes(
    issuer: LocalIssuer, url: str, path: Path
) -> None:
    full = make_key(path, {"team": ["full"]})
    with Memory.open(url, space="team", api_key=full, create=True) as team:
        team.configure(agents="propose")

    async def sign_in() -> None:
        issuer.signs_in = "cleo"
        headers = {"X-Treering-Space": "team"}
        async with (
            httpx2.AsyncClient(auth=signed_in(url)) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            assert await said(client, "recall", query="Who am I?") == "nothing found"
            asked = {"query": "Who am I?", "spaces": ["user-cleo", "team"]}
            assert await said(client, "recall", **asked) == "nothing found"
            await refused(client, "recall", query="Who am I?", spaces=["user-ana"])
        async with (
            httpx2.AsyncClient(auth=signed_in(url), headers=headers) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            await said(client, "remember", text="Cleo joins in June.")

    anyio.run(sign_in)
    with Memory.open(url, space="team", api_key=full) as team:
        [waiting] = team.withheld()
        assert waiting.correction.by == f"cleo of {issuer.url}"
