"""Two ``treering serve`` processes on one PostgreSQL, and one of them is killed while it adds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx2
import pytest

from tests.faults.test_processes import ROOT, TIMEOUT_S
from tests.postgres_server import empty_memory, new_schema
from tests.programs import Program
from tests.serve.conftest import serving as in_this_process
from treering.journal.open import open_database

CLIENTS = 4
NOTES = 6
"""Adds of each client; the first server is killed after a third of all of them."""


class Server:
    """A server in a process of its own, started by the command that ``deploy`` starts it with."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self._process = process
        self.url = url

    def post(self, path: str, body: object, key: str | None = None) -> httpx2.Response:
        headers = {} if key is None else {"Idempotency-Key": key}
        return httpx2.post(self.url + path, json=body, headers=headers, timeout=TIMEOUT_S)

    def get(self, path: str) -> httpx2.Response:
        return httpx2.get(self.url + path, timeout=TIMEOUT_S)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(TIMEOUT_S)


@contextmanager
def serving(memory: str) -> Iterator[Server]:
    process = Program(
        [sys.executable, "-m", "treering", "serve", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"TREERING_MEMORY": memory},
    )
    assert process.stderr is not None
    stuck = threading.Timer(TIMEOUT_S, process.kill)  # which ends the line that is waited for
    stuck.start()
    try:
        line = process.stderr.readline()
        address = re.search(r"http://\S+", line)
        assert address, line
        yield Server(process, address[0])
    finally:
        stuck.cancel()
        process.kill()
        process.wait(TIMEOUT_S)
        process.stderr.close()


@pytest.fixture
def servers(no_llm: None) -> Iterator[tuple[Server, Server]]:
    with empty_memory() as memory, ExitStack() as stack:
        yield stack.enter_context(serving(memory)), stack.enter_context(serving(memory))


def texts(server: Server) -> Counter[str]:
    """How often each text is in the memory."""
    page = server.get("/v1/entries?limit=1000").json()
    assert page["next"] is None
    return Counter(entry["text"] for entry in page["entries"])


def test_what_one_server_acknowledged_the_next_search_of_the_other_finds(
    servers: tuple[Server, Server],
) -> None:
    for number in range(6):
        adding, searching = servers if number % 2 else servers[::-1]
        text = f"Locker {number} has the code 447{number}."
        added = adding.post("/v1/entries", {"text": text, "source": f"locker {number}"})
        assert added.status_code == 201
        hits = searching.post("/v1/search", {"query": text, "k": 1}).json()
        assert [hit["text"] for hit in hits] == [text]


class Client:
    """Adds notes to the first server, and to the second what the first did not answer."""

    def __init__(self, name: str, servers: tuple[Server, Server], third: threading.Barrier) -> None:
        self._name = name
        self._first, self._second = servers
        self._third = third
        self.acknowledged: list[str] = []
        self.sent_twice = 0

    def run(self) -> None:
        for number in range(NOTES):
            if number == NOTES // 3:
                self._third.wait(TIMEOUT_S)  # whoever kills goes on now, too
            self._add(f"Note {number} of {self._name}.", f"{self._name}-{number}")

    def _add(self, text: str, key: str) -> None:
        body = {"text": text, "source": key}
        try:
            response = self._first.post("/v1/entries", body, key)
        except httpx2.TransportError:
            self.sent_twice += 1
            response = self._second.post("/v1/entries", body, key)
        assert response.status_code == 201, response.text
        self.acknowledged.append(text)


def test_a_server_that_is_killed_amid_adds_loses_and_doubles_nothing(
    servers: tuple[Server, Server],
) -> None:
    first, second = servers
    third = threading.Barrier(CLIENTS + 1)
    clients = [Client(name, servers, third) for name in ("ana", "ben", "cem", "dan")[:CLIENTS]]
    with ThreadPoolExecutor(CLIENTS) as threads:
        running = [threads.submit(client.run) for client in clients]
        third.wait(TIMEOUT_S)
        first.kill()
        for task in running:
            task.result(TIMEOUT_S)
    acknowledged = [text for client in clients for text in client.acknowledged]
    assert all(client.sent_twice for client in clients)
    assert texts(second) == Counter(acknowledged)
    assert len(acknowledged) == CLIENTS * NOTES
    assert second.post("/v1/settle", {}).json()["pending"] == {}
    last = f"Note {NOTES - 1} of ana."
    assert second.post("/v1/search", {"query": last, "k": 1}).json()[0]["text"] == last


def test_a_server_that_is_older_than_the_tables_says_so_and_is_not_ready(no_llm: None) -> None:
    memory = new_schema()
    with in_this_process(memory) as client:
        assert client.get("/readyz").status_code == 200
        database = open_database(memory)
        with database.write() as writer:  # as a newer treering does when it is started
            writer.execute("UPDATE treering_version SET number = 9000")
        database.close()
        assert client.get("/readyz").status_code == 500
        for answer in (
            client.post("/v1/search", json={"query": "Porto"}),
            client.post("/v1/entries", json={"text": "Ana lives in Porto."}),
        ):
            assert answer.status_code == 500
            assert answer.json()["type"] == "urn:treering:error:journal_version_error"
