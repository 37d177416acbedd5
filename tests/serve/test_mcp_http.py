"""MCP over HTTP, as the server mounts it, by the SDK's own client."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.code.working import repository
from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.serve.conftest import MakeKey, bearer
from tests.serve.live import serving
from tests.serve.test_mcp import VERSIONS, refused, said, shown
from treering.arrays import Floats
from treering.errors import JournalBusy
from treering.memory import Memory


@pytest.mark.parametrize("mode", ["auto", *VERSIONS])
def test_what_one_client_remembers_another_recalls(path: Path, mode: str) -> None:
    async def act(url: str) -> None:
        async with Client(f"{url}/mcp", mode=mode) as client:
            assert client.protocol_version == VERSIONS.get(mode, client.protocol_version)
            await said(client, "remember", text="The launch is on Friday.")
        async with Client(f"{url}/mcp", mode=mode) as client:
            assert "on Friday" in await said(client, "recall", query="when is the launch")
            assert "on Friday" in await shown(client)

    with serving(url=path) as url:
        anyio.run(act, url)


def test_a_key_opens_its_own_space_and_no_other(path: Path, make_key: MakeKey) -> None:
    ann, bob = make_key("ann"), make_key("bob")

    async def act(url: str) -> None:
        for key, secret in ((ann, "Ann likes tea."), (bob, "Bob likes rum.")):
            async with (
                httpx2.AsyncClient(headers=bearer(key)) as http,
                Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
            ):
                assert await said(client, "recall", query="who likes what") == "nothing found"
                await said(client, "remember", text=secret)
                assert secret in await said(client, "recall", query="who likes what")

    with serving(url=path) as url:
        anyio.run(act, url)
        assert httpx2.post(f"{url}/mcp", json={}).status_code == 401


def test_nonsense_is_refused_and_the_server_goes_on(path: Path) -> None:
    with serving(url=path) as url:
        headers = {"accept": "application/json, text/event-stream"}
        for body in (b"", b"{", b"[" * 50_000, b"[]", b'{"jsonrpc": "2.0", "id": 1}'):
            sent = headers | {"content-type": "application/json"}
            status = httpx2.post(f"{url}/mcp", content=body, headers=sent).status_code
            assert 400 <= status < 500
        assert httpx2.put(f"{url}/mcp", headers=headers).status_code == 405
        hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        padded = {"content-type": "application/json", "mcp-protocol-version": "2025-06-18  "}
        with closing(HTTPConnection(url.removeprefix("http://"), timeout=30)) as raw:
            raw.request("POST", "/mcp", json.dumps(hello), headers | padded)
            assert raw.getresponse().status == 200
        hostile = {"origin": "https://evil.example"}
        assert httpx2.post(f"{url}/mcp", json={}, headers=hostile).status_code == 403
        assert httpx2.get(f"{url}/healthz").status_code == 200


def test_code_is_read_only_where_the_server_lets_it(path: Path, tmp_path: Path) -> None:
    inside = repository(tmp_path / "inside", m="x = 1\n")
    outside = repository(tmp_path / "outside", m="x = 1\n")
    (inside / "link").symlink_to(outside)

    async def act(url: str) -> None:
        async with Client(f"{url}/mcp") as client:
            assert "nothing is undone" in await said(client, "code_check", root=str(inside))
            for root in (str(outside), f"{inside}/../outside", f"{inside}/link", "."):
                told = await refused(client, "code_check", root=root)
                assert "is not in a folder whose code this server may read" in told

    with serving(url=path, code_roots=(inside,)) as url:
        anyio.run(act, url)


def test_a_long_text_is_indexed_in_the_server_s_threads_before_it_closes(
    path: Path, open_memory: Open
) -> None:
    begun, go = threading.Event(), threading.Event()
    names: list[str] = []

    def note(texts: Sequence[str], vectors: Floats) -> Floats:
        names.append(threading.current_thread().name)
        begun.set()
        assert go.wait(30)
        return vectors

    async def act(url: str) -> None:
        async with Client(f"{url}/mcp") as client:
            told = await said(client, "remember", text="The harbour is quiet. " * 3_000)
            assert told.endswith("not searchable yet")

    with serving(url=path, embedder=HashingEmbedder(tamper=note)) as url:
        anyio.run(act, url)
        assert begun.wait(30)
        go.set()
    assert {name.rpartition("_")[0] for name in names} == {"treering-write"}
    assert open_memory().stats().pending.get("fragments") is None


def test_an_error_of_the_file_does_not_name_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise JournalBusy(f"{path} is locked")

    async def act(url: str) -> None:
        async with Client(f"{url}/mcp") as client:
            told = await refused(client, "list")
            assert "Another writer" in told
            assert str(path) not in told

    monkeypatch.setattr(Memory, "page", fail)
    with serving(url=path) as url:
        anyio.run(act, url)
