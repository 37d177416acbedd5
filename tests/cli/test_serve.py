"""The server as a process: how it starts, and that stopping or killing it loses nothing."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.conftest import Process, Treering, record, records
from tests.embedders import HashingEmbedder
from tests.llm.chat_server import playing, says
from treering import Memory

TIMEOUT_S = 60
CLIENTS = 4
ACKNOWLEDGED = 20  # adds before the server is stopped


@contextmanager
def serving(process: Process, *options: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server, and its address once it can be reached."""
    with process("serve", *options, "--port", "0") as running:
        assert running.stderr is not None
        try:
            found = re.search(r"http://\S+", running.stderr.readline())
            assert found is not None
            yield running, found[0]
        finally:
            running.kill()


def add_until_refused(
    url: str, name: int, acknowledged: list[str], enough: threading.Event
) -> None:
    """Add texts that no other client adds, noting those that were acknowledged."""
    with httpx2.Client(base_url=url, timeout=TIMEOUT_S) as client:
        for number in range(10_000):
            text = f"client {name} says {number}"
            try:
                found = client.post("/v1/entries", json={"text": text, "source": str(name)})
            except httpx2.TransportError:
                return
            assert found.status_code == 201, found.text
            acknowledged.append(text)
            if len(acknowledged) >= ACKNOWLEDGED:
                enough.set()


@pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_server_stopped_or_killed_loses_and_repeats_nothing_it_acknowledged(
    process: Process, tmp_path: Path, how: signal.Signals
) -> None:
    acknowledged: list[str] = []
    enough = threading.Event()
    with serving(process) as (running, url), ThreadPoolExecutor(CLIENTS) as threads:
        done = [
            threads.submit(add_until_refused, url, name, acknowledged, enough)
            for name in range(CLIENTS)
        ]
        assert enough.wait(TIMEOUT_S)
        running.send_signal(how)
        for one in done:
            one.result(TIMEOUT_S)
        assert running.wait(TIMEOUT_S) in (0, 130, -how)
    with Memory.open(tmp_path / "life.db", embedder=HashingEmbedder("hashing")) as memory:
        kept = Counter(entry.text for entry in memory.entries())
        assert set(acknowledged) <= set(kept)
        assert set(kept.values()) == {1}
        assert memory.check() == []
        assert memory.settle().pending == {}


@pytest.mark.skipif(sys.platform == "win32", reason="signals work differently there")
def test_a_request_under_way_is_answered_before_the_server_stops(process: Process) -> None:
    with serving(process, "--embedder", "pausing") as (running, url):
        assert running.stdin is not None
        assert running.stdout is not None
        with ThreadPoolExecutor(1) as threads:
            add: Any = threads.submit(
                httpx2.post, f"{url}/v1/entries", json={"text": "Ana."}, timeout=TIMEOUT_S
            )
            assert running.stdout.readline() == "embedding\n"
            running.terminate()
            running.stdin.write("go on\n")
            running.stdin.flush()
            assert add.result(TIMEOUT_S).json()["pending"] == 0
        assert running.wait(TIMEOUT_S) in (0, -signal.SIGTERM)


def test_it_serves_the_file_given(process: Process, tmp_path: Path) -> None:
    with serving(process, tmp_path / "other.db", "--space", "ana") as (_, url):
        assert httpx2.get(f"{url}/v1/stats").json()["space"] == "ana"
    assert (tmp_path / "other.db").exists()


def test_commands_take_the_address_of_a_server_for_a_memory(
    process: Process, treering: Treering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREERING_EMBEDDER")
    with serving(process) as (_, url):
        assert treering("-m", url, "add", "Ana moved to Porto.").exit_code == 0
        assert "Porto" in treering("-m", url, "search", "Where is Ana?").stdout
        assert treering("-m", url, "fit").exit_code == 2
        assert record(treering("-m", url, "stats", "--json"))["entries"] == 1


def test_an_address_that_is_taken_is_told(process: Process, treering: Treering) -> None:
    with serving(process) as (_, url):
        result = treering("serve", "--port", url.rpartition(":")[2])
    assert result.exit_code == 2
    assert "give another --port" in result.stderr


def test_off_this_machine_it_asks_for_a_key_first(treering: Treering) -> None:
    result = treering("serve", "--host", "0.0.0.0", "--port", "0")
    assert result.exit_code == 2
    assert "treering serve key add" in result.stderr


def test_keys_are_made_listed_and_removed(treering: Treering) -> None:
    made = treering("serve", "key", "add", "--space", "ana", "--label", "phone", "--json")
    key = record(made)
    assert key["key"].startswith("tr_")
    [listed] = records(treering("serve", "key", "--json"))
    assert (listed["id"], listed["space"], listed["label"]) == (key["id"], "ana", "phone")
    assert key["key"] not in treering("serve", "key").stdout
    assert treering("serve", "key", "--remove", key["id"]).exit_code == 0
    assert records(treering("serve", "key", "--json")) == []
    assert treering("serve", "key", "--remove", key["id"]).exit_code == 2
    assert "every request is refused" in treering("serve", "key").stderr
    treering("serve", "key", "--open")
    assert "no request needs one" in treering("serve", "key").stderr


def test_keys_of_no_memory_are_not_looked_for(treering: Treering, tmp_path: Path) -> None:
    assert treering("serve", "key").exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_the_upstream_key_comes_from_the_environment_and_is_not_told(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREERING_UPSTREAM_KEY", "sk-secret")
    with (
        playing(says("Hello.")) as model,
        serving(process, "--upstream", model.url) as (running, url),
    ):
        asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        answer = httpx2.post(f"{url}/v1/chat/completions", json=asked, timeout=TIMEOUT_S)
        assert answer.json()["choices"][0]["message"]["content"] == "Hello."
        assert model.requests[0].headers["authorization"] == "Bearer sk-secret"
        running.terminate()
        _, told = running.communicate(timeout=TIMEOUT_S)
    assert "sk-secret" not in told
