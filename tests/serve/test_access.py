from __future__ import annotations

import asyncio
import logging
import re
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from tests.serve import live
from tests.serve.conftest import MakeKey, Serve, bearer
from treering.errors import InputError, KeyUnknown
from treering.journal.contract import Database
from treering.journal.open import open_database
from treering.serve import access, keys
from treering.serve.app import create_app
from treering.serve.settings import ServerSettings, is_loopback

SECRET = "Ana hides the spare key under the third flowerpot"


def test_without_a_key_it_does_not_start_where_others_can_reach_it(serve: Serve) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "memory.example.org"):
        with pytest.raises(InputError, match="treering serve key add"):
            serve(host=host)


def test_this_machine_is_told_from_all_others() -> None:
    cases = [
        *(("localhost", True), ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True)),
        *(("[::1]", True), ("0.0.0.0", False), ("", False), ("localhost.evil.test", False)),
        ("127.0.0.1.evil.test", False),
    ]
    for host, local in cases:
        assert is_loopback(host) == local


def test_nobody_else_is_answered(serve: Serve, make_key: MakeKey) -> None:
    cases: list[dict[str, str]] = [
        *({}, {"Authorization": "Bearer"}, {"Authorization": "Bearer tr_wrong"}),
        *({"Authorization": "Basic dHI6dHI="}, {"Authorization": "tr_wrong"}),
        {"X-Treering-Space": "ana"},
    ]
    make_key("ana")
    client = serve()
    for headers in cases:
        found = client.get("/v1/entries", headers=headers)
        assert found.status_code == 401
        assert found.headers["www-authenticate"] == "Bearer"
        assert found.json()["type"] == "urn:treering:error:key_unknown"


def test_a_key_is_kept_as_a_digest_and_shown_once(path: Path, make_key: MakeKey) -> None:
    key = make_key("ana")
    assert re.fullmatch(r"tr_[\w-]{43}", key)
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert key.encode() not in stored
    assert keys.digest(key) in stored


def test_a_removed_key_opens_nothing_and_its_absence_opens_nothing_either(
    serve: Serve, make_key: MakeKey, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "REFRESH_S", 0.0)
    key = make_key("ana")
    client = serve()
    assert client.get("/v1/stats", headers=bearer(key)).status_code == 200
    database = open_database(path)
    [known] = keys.list_keys(database)
    keys.remove(database, known.id)
    database.close()
    assert client.get("/v1/stats", headers=bearer(key)).status_code == 401
    assert client.get("/v1/stats").status_code == 401


@pytest.mark.parametrize("another", [False, True])
def test_after_a_restart_too_a_memory_that_had_keys_is_closed(
    serve: Serve, make_key: MakeKey, path: Path, another: bool
) -> None:
    make_key("ana")
    with closing(open_database(path)) as database:
        keys.remove(database, keys.list_keys(database)[0].id)
    client = serve()
    refused = client.get("/v1/stats", headers={"X-Treering-Space": "ana"})
    assert refused.status_code == 401
    assert "treering serve key --open" in refused.json()["detail"]
    if another:
        make_key("ben")
    with closing(open_database(path)) as database:
        if another:
            with pytest.raises(
                InputError, match=r"^1 key still opens .* remove it first.*key --remove"
            ):
                keys.open_again(database)
            keys.remove(database, keys.list_keys(database)[0].id)
        keys.open_again(database)
    assert serve().get("/v1/stats").status_code == 200


def test_a_page_of_another_site_is_refused_without_keys(client: TestClient) -> None:
    for headers in (
        {"Origin": "https://evil.test"},
        {"Origin": "null"},
        {"Host": "evil.test"},
        {"Host": "[::1"},
        {"Host": "localhost.evil.test:7373"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"},
    ):
        assert client.get("/v1/entries", headers=headers).status_code == 403, headers
    for headers in (
        {"Origin": "http://localhost:7373"},
        {"Host": "127.0.0.1:80"},
        *({"Sec-Fetch-Site": site} for site in ("same-origin", "same-site", "none")),
    ):
        assert client.get("/v1/entries", headers=headers).status_code == 200, headers


PASSED_ON = [
    {"Forwarded": "for=203.0.113.9;host=memory.example.org"},
    {"X-Forwarded-For": "203.0.113.9"},
    {"X-Forwarded-Host": "memory.example.org"},
    {"X-Real-IP": "203.0.113.9"},
    {"Via": "1.1 memory.example.org"},
    {"CF-Connecting-IP": "203.0.113.9"},
]
"""What reverse proxies add to what they pass on, with a Host that they have rewritten."""


@pytest.mark.parametrize("headers", PASSED_ON)
def test_what_a_reverse_proxy_passes_on_is_refused_without_keys(
    client: TestClient, headers: dict[str, str]
) -> None:
    refused = client.get("/v1/entries", headers=headers)
    assert refused.status_code == 403
    assert "treering serve key add" in refused.json()["detail"]


def test_so_is_the_old_http_that_nginx_speaks(path: Path) -> None:
    with live.serving(url=path) as url:
        for version, status in ((b"1.0", b"403"), (b"1.1", b"200")):
            answer = spoken(url, b"GET /v1/entries HTTP/" + version)
            assert answer.split(b" ")[1] == status, answer


def spoken(url: str, request_line: bytes) -> bytes:
    """The answer to a request that is written by hand."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as connection:
        connection.sendall(request_line + b"\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_a_reverse_proxy_passes_on_with_a_key(serve: Serve, make_key: MakeKey) -> None:
    key, client = bearer(make_key("ana")), serve()
    assert {client.get("/v1/entries", headers=one | key).status_code for one in PASSED_ON} == {200}


def operations(client: TestClient) -> Iterator[tuple[str, str]]:
    """Every method and path of the description, and what is mounted beside it."""
    for path, methods in client.get("/v1/openapi.json").json()["paths"].items():
        yield from ((method.upper(), path) for method in methods)
    yield from (("POST", "/mcp"), ("GET", "/metrics"), ("GET", "/not/there"))


def filled(path: str, entry_id: str) -> str:
    """A path with what another space has in it."""
    known = {"entry_id": entry_id, "memo_id": entry_id, "number": "1", "root": "1", "name": "ana"}
    return path.format_map(known)


BODIES: dict[str, dict[str, Any]] = {
    "/v1/entries": {"text": "mine"},
    "/v1/entries/{entry_id}": {"text": "mine"},
    "/v1/forget": {"source": "notes"},
    "/v1/supersede": {"old": "a", "new": "b"},
    "/v1/search": {"query": "spare key flowerpot"},
    "/v1/search-many": {"queries": ["spare key flowerpot"]},
    "/v1/context": {"query": "spare key flowerpot"},
    "/v1/ask": {"question": "Where is the spare key?"},
    "/v1/chat": {"message": "Where is the spare key?"},
    "/v1/memos/search": {"query": "spare key flowerpot"},
    "/v1/memos/choose": {"query": "spare key flowerpot"},
    "/v1/code/about": {"question": "spare key flowerpot"},
    "/v1/memos/{memo_id}": {"topic": "mine"},
    "/v1/tree/context": {"query": "spare key flowerpot"},
    "/v1/code/search": {"query": "spare key flowerpot"},
}


def test_no_route_answers_without_a_key(serve: Serve, make_key: MakeKey) -> None:
    make_key("ana")
    client = serve()
    for method, path in operations(client):
        found = client.request(method, filled(path, "x"), json=BODIES.get(path, {}))
        assert found.status_code == 401, (method, path)


def test_no_route_shows_or_changes_another_space(serve: Serve, make_key: MakeKey) -> None:
    ana, ben = bearer(make_key("ana")), bearer(make_key("ben"))
    client = serve()
    [entry_id] = client.post("/v1/entries", json={"text": SECRET}, headers=ana).json()["ids"]
    client.post("/v1/settle", headers=ana)
    before = client.get("/v1/export", headers=ana).text
    assert SECRET in before
    for method, path in operations(client):
        where, body = filled(path, entry_id), BODIES.get(path, {})
        found = client.request(method, where, json=body, headers=ben)
        assert "third" not in found.text, (method, path)
        assert '"ana"' not in found.text, (method, path)
        if path == "/v1/spaces/{name}":
            assert found.status_code == 403
        for space in ("ana", "default"):
            claim = {"X-Treering-Space": space}
            found = client.request(method, where, json=body, headers=ben | claim)
            assert found.status_code == 403, (method, path)
    assert client.get("/v1/export", headers=ana).text == before
    assert client.get("/v1/spaces", headers=ben).json() == ["ben"]


def test_what_tells_nothing_of_any_space_needs_no_key(serve: Serve, make_key: MakeKey) -> None:
    make_key("ana")
    client = serve()
    for path in ("/healthz", "/readyz", "/v1/openapi.json"):
        assert client.get(path).status_code == 200


def test_no_key_and_no_text_is_logged(
    serve: Serve, make_key: MakeKey, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = make_key("ana")
    client = serve()
    for headers in (bearer(key), bearer("tr_mistyped_key")):
        client.post("/v1/entries", json={"text": SECRET}, headers=headers)
        client.post("/v1/search", json={"query": SECRET}, headers=headers)
    for secret in (key, "mistyped", "flowerpot"):
        assert secret not in caplog.text


def test_a_server_that_may_not_start_leaves_the_file_closed(path: Path) -> None:
    with pytest.raises(InputError):
        create_app(ServerSettings(path, host="0.0.0.0"))
    path.rename(path.with_suffix(".moved"))


def test_a_key_that_is_made_while_keys_are_read_is_known_at_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "MISS_S", 0.05)
    read, made = keys.keys_by_digest, list[str]()

    def read_slowly(database: Database) -> Any:
        found = read(database)
        end = time.monotonic() + access.MISS_S
        made.append(keys.add(database, "ana")[0])
        while time.monotonic() <= end:
            pass
        return found

    async def ask() -> str:
        with pytest.raises(KeyUnknown):
            await door.admit(Headers(bearer("tr_unknown")))
        return (await door.admit(Headers(bearer(made[0])))).own_space

    with closing(open_database(path)) as database:
        keys.add(database, "ana")
        monkeypatch.setattr(keys, "keys_by_digest", read_slowly)
        door = access.Access(ServerSettings(url=path), database)
        made.clear()
        assert asyncio.run(ask()) == "ana"
