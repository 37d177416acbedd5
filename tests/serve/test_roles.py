"""Keys with roles, patterns and an end, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from tests.postgres_server import new_schema
from tests.raised import raises
from tests.serve.conftest import bearer, serving
from tests.serve.test_access import BODIES, filled, operations
from treering.errors import InputError, UnknownName
from treering.journal.contract import Database
from treering.journal.entries import micros
from treering.journal.open import open_database
from treering.serve import access, keys, roles
from treering.serve.mcp import tools

SECRET = "Ana hides the spare key under the third flowerpot"
Key = dict[str, str]
MCP = {"accept": "application/json, text/event-stream"}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, path: Path) -> str:
    return str(path) if request.param == "sqlite" else new_schema()


@contextmanager
def opened(url: str) -> Iterator[Database]:
    with closing(open_database(url)) as database:
        yield database


def key(url: str, space: str, *held: str, **options: Any) -> Key:
    with opened(url) as database:
        return bearer(keys.add(database, space, roles=held, **options)[0])


def in_space(space: str) -> Key:
    return {"X-Treering-Space": space}


def ask(client: TestClient, method: str, headers: Key, **params: Any) -> dict[str, Any]:
    sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    reply: dict[str, Any] = client.post("/mcp", json=sent, headers=headers | MCP).json()
    return reply


def call(client: TestClient, tool: str, headers: Key, **arguments: Any) -> dict[str, Any]:
    reply = ask(client, "tools/call", headers, name=tool, arguments=arguments)
    result: dict[str, Any] = reply["result"]
    return result


def added(client: TestClient, headers: Key) -> str:
    return str(client.post("/v1/entries", json={"text": SECRET}, headers=headers).json()["ids"][0])


def test_each_role_may_do_its_part_by_rest_mcp_and_page(url: str) -> None:
    full, read, add = (key(url, "ana", role) for role in ("full", "read", "add"))
    operator = key(url, "ana", "operator")
    with serving(url) as client:
        entry = added(client, full)
        before = client.get("/v1/export", headers=full).text
        for method, path in operations(client):
            where, body = filled(path, entry), BODIES.get(path, {})
            needed = roles.needed_roles(method, path)
            for held, headers in (("read", read), ("add", add), ("operator", operator)):
                if method == "POST" and path == "/v1/entries" and held == "add":
                    continue
                answer = client.request(method, where, json=body, headers=headers)
                is_refused = answer.status_code == 403
                assert is_refused != (needed <= {held}), (method, path, held)
                assert held == "read" or SECRET not in answer.text
        assert client.get("/v1/export", headers=full).text == before
        assert SECRET in str(call(client, "recall", read, query="spare key"))
        for tool, arguments, headers in (
            ("remember", {"text": "mine"}, read),
            ("update", {"id": entry, "text": "mine"}, read),
            ("forget", {"ids": [entry]}, read),
            ("forget", {"ids": [entry]}, add),
            ("recall", {"query": "spare key"}, add),
            ("list", {}, operator),
        ):
            assert call(client, tool, headers, **arguments)["isError"], tool
        recall = {"name": "recall", "arguments": {"query": "spare key"}}
        assert SECRET in str(ask(client, "prompts/get", read, **recall))
        for method, params in (
            ("prompts/get", recall),
            ("prompts/get", {"name": "brief"}),
            ("resources/read", {"uri": "treering://brief"}),
        ):
            assert "result" in ask(client, method, read, **params)
            assert "error" in ask(client, method, add, **params)
        assert client.get("/v1/export", headers=full).text == before
        assert not call(client, "remember", add, text="Ben keeps bees.").get("isError")
        assert client.post("/v1/entries", json={"text": "Eve"}, headers=add).status_code == 201


def test_every_route_that_is_no_get_is_in_the_table_or_needs_the_full_role(url: str) -> None:
    with serving(url) as client:
        routes = [each for each in client.app.routes if isinstance(each, Route)]  # type: ignore[attr-defined]
        assert not any(isinstance(each, Mount) for each in client.app.routes)  # type: ignore[attr-defined]
    needed = {
        (method, each.path): roles.needed_roles(method, each.path)
        for each in routes
        for method in each.methods or ("GET", "POST", "DELETE")
    }
    lesser = {place for place, held in needed.items() if held != roles.FULL}
    assert {place for place in lesser if place[0] not in ("GET", "HEAD")} <= roles.NEEDED.keys()
    # A path with a parameter never equals the path of a request: its row would say too little.
    assert not [path for method, path in roles.NEEDED if "{" in path and (method, path) in lesser]
    assert {each.needed for each in tools.TOOLS.values()} == {roles.READ, roles.ADD, roles.FULL}


def test_roles_add_up_and_a_key_may_have_others_in_another_space(url: str) -> None:
    ana = key(url, "ana", "full")
    with opened(url) as database:
        [row] = keys.list_keys(database)
        keys.extend(database, row.id, "team", ["read"])
        keys.extend(database, row.id, "team", ["read", "add"])
        assert [(each.space, each.roles) for each in keys.list_keys(database)] == [
            ("ana", ("full",)),
            ("team", ("add", "read")),
        ]
        with raises(UnknownName):
            keys.extend(database, "nobody", "team", ["read"])
    with serving(url) as client:
        added(client, ana)
        shared = added(client, ana | in_space("team"))
        team = ana | in_space("team")
        assert client.get("/v1/spaces", headers=ana).json() == ["ana", "team"]
        assert client.get("/v1/entries", headers=team).status_code == 200
        assert client.post("/v1/forget", json={"ids": [shared]}, headers=team).status_code == 403
        assert client.delete("/v1/spaces/team", headers=ana).status_code == 403
        assert client.get("/v1/stats", headers=ana | in_space("ben")).status_code == 403


def test_a_pattern_opens_the_spaces_whose_names_fit(url: str) -> None:
    everyone, fleet = key(url, "*", "full"), key(url, "bot-*", "full")
    with serving(url) as client:
        for space in ("bot-1", "bot-2", "bot", "abot-1"):
            added(client, everyone | in_space(space))
        assert client.get("/v1/spaces", headers=fleet).json() == ["bot-1", "bot-2"]
        for space, status in (("bot-1", 200), ("bot", 403), ("abot-1", 403)):
            headers = fleet | in_space(space)
            assert client.get("/v1/stats", headers=headers).status_code == status
        assert client.get("/v1/stats", headers=fleet).status_code == 422
        assert client.put("/v1/spaces/bot-3", headers=fleet).json() == ["bot-1", "bot-2", "bot-3"]
        assert client.put("/v1/spaces/cat-3", headers=fleet).status_code == 403
        assert client.delete("/v1/spaces/bot-3", headers=fleet).status_code == 200


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        *(("a[b]*", "a[b]c", True), ("a[b]*", "abc", False), ("a?c", "abc", False)),
        *(("*", "any/thing", True), ("a*c*", "abcd", True), ("a.c", "abc", False)),
    ],
)
def test_only_the_asterisk_is_a_wildcard(pattern: str, name: str, fits: bool) -> None:
    assert roles.matches(pattern, name) is fits


def test_figures_of_the_whole_memory_are_for_operators(url: str) -> None:
    for headers, sees in (
        (key(url, "ana", "full"), False),
        (key(url, "*", "read"), False),
        (key(url, "*", "full"), True),
        (key(url, "ana", "operator"), True),
    ):
        with serving(url) as client:
            answer = client.get("/metrics", headers=headers)
            assert answer.status_code == 200
            assert ("treering_entries " in answer.text) is sees


def test_an_expired_key_opens_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    headers = key(url, "ana", "read", expires=soon)
    with opened(url) as database, raises(InputError):
        keys.add(database, "ana", expires=datetime.now(UTC) - timedelta(seconds=1))
    with serving(url) as client:
        assert client.get("/v1/spaces", headers=headers).status_code == 200
        monkeypatch.setattr(access, "now", lambda: micros(soon))
        refused = client.get("/v1/spaces", headers=headers)
        assert refused.status_code == 401
        assert refused.json()["code"] == "key_unknown"


def test_a_rotated_key_stays_valid_for_a_day(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "REFRESH_S", 0.0)
    end = datetime.now(UTC) + timedelta(days=30)
    old = key(url, "ana", "read", expires=end)
    with serving(url) as client:
        with opened(url) as database:
            [row] = keys.list_keys(database)
            keys.extend(database, row.id, "team", ["add"])
            text, made = keys.rotate(database, row.id)
            listed = keys.list_keys(database)
        assert [(each.space, each.roles) for each in listed] == [
            *(("ana", ("read",)), ("team", ("add",))) * 2
        ]
        assert {each.expires - datetime.now(UTC) <= keys.GRACE for each in listed[:2]} == {True}  # type: ignore[operator]
        assert made.expires is not None
        assert made.expires >= end
        for headers in (old, bearer(text)):
            assert client.get("/v1/entries", headers=headers).status_code == 200
        with opened(url) as database:
            keys.remove(database, row.id)
        assert client.get("/v1/entries", headers=old).status_code == 401
        assert client.get("/v1/entries", headers=bearer(text)).status_code == 200


def test_the_last_use_of_a_key_is_noted(url: str) -> None:
    headers = key(url, "ana", "read")
    before = datetime.now(UTC) - timedelta(seconds=1)
    with serving(url) as client:
        assert client.get("/v1/entries", headers=headers).status_code == 200
    with opened(url) as database:
        [row] = keys.list_keys(database)
    assert row.used is not None
    assert before <= row.used <= datetime.now(UTC) + timedelta(seconds=1)


@pytest.mark.parametrize("held", [["reader"], [], ["full", "Read"]])
def test_unknown_roles_are_refused(path: Path, held: list[str]) -> None:
    with opened(str(path)) as database, raises(InputError):
        keys.add(database, "ana", roles=held)


def test_a_key_that_may_only_add_proposes_where_agents_may_only_propose(url: str) -> None:
    agent, person = key(url, "ana", "add"), key(url, "ana", "full")
    with serving(url) as client:
        client.post("/v1/entries", json={"text": "Ana has a boat."}, headers=person)
        client.post("/v1/configure", json={"agents": "propose"}, headers=person)
        entry_id = added(client, agent)
        assert client.get(f"/v1/entries/{entry_id}", headers=person).status_code == 404
        [waiting] = client.get("/v1/withheld", headers=person).json()
        assert (waiting["entry"]["id"], waiting["correction"]["by"] is None) == (entry_id, False)
        body = {"entry_id": entry_id, "by": "somebody else"}
        assert client.post("/v1/restore", json=body, headers=agent).status_code == 403
        assert client.post("/v1/restore", json=body, headers=person).status_code == 200
        history = client.get(f"/v1/entries/{entry_id}/history", headers=person).json()
    proposer, accepter = (change["by"] for change in history)
    assert proposer != accepter
    assert "somebody else" not in (proposer, accepter)


def test_a_key_neither_erases_nor_counts_copies_in_spaces_it_does_not_open(url: str) -> None:
    ana, everything = key(url, "ana", "full"), key(url, "*", "full")
    with serving(url) as client:
        entry_id = added(client, ana)
        client.put("/v1/spaces/team", headers=everything | in_space("team"))
        headers = everything | in_space("ana")
        share = {"ids": [entry_id], "to": "team"}
        assert client.post("/v1/share", json=share, headers=headers).status_code == 200
        retracted = client.post("/v1/retract", json={"entry_id": entry_id}, headers=ana).json()
        assert (retracted["what"], retracted["copies"]) == ("retracted", 0)
        client.post("/v1/restore", json={"entry_id": entry_id}, headers=ana)
        forget = {"ids": [entry_id], "copies": True}
        assert client.post("/v1/forget", json=forget, headers=ana).status_code == 403
        gone = client.post("/v1/forget", json={"ids": [entry_id]}, headers=ana).json()
        assert (gone["entries"], gone["copies"]) == ([entry_id], 0)
        other = added(client, ana)
        client.post("/v1/share", json=share | {"ids": [other]}, headers=headers)
        [gone_too] = call(client, "forget", ana, ids=[other])["content"]
        assert "copies" not in gone_too["text"]
        left = client.get("/v1/entries", headers=everything | in_space("team")).json()["entries"]
        assert len(left) == 2


def test_a_key_that_may_only_add_shares_nothing_where_it_may_only_propose(url: str) -> None:
    with opened(url) as database:
        token, held = keys.add(database, "bob", roles=["full"])
        keys.extend(database, held.id, "team", ["add"])
    bob, person = bearer(token) | in_space("bob"), key(url, "team", "full")
    with serving(url) as client:
        client.post("/v1/entries", json={"text": "Ana has a boat."}, headers=person)
        client.post("/v1/configure", json={"agents": "propose"}, headers=person)
        share = {"ids": [added(client, bob)], "to": "team"}
        assert client.post("/v1/share", json=share, headers=bob).status_code == 403
        assert len(client.get("/v1/entries", headers=person).json()["entries"]) == 1
