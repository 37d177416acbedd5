"""Chats sent again to servers that were killed: kept once, and paid for at most once more."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from tests.faults.test_processes import ROOT, TIMEOUT_S
from tests.programs import Program
from tests.serve.conftest import serving
from treering.llm.scripted import FakeLLM

KEY = {"Idempotency-Key": "b7d1-0001"}
SAID = {"message": "Where is Porto?"}


class Server:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self._process = process
        self.url = url

    def chat(self, said: Mapping[str, object] = SAID) -> str:
        return self._post("chat", said)

    def add(self, sent: Mapping[str, object]) -> str:
        return self._post("entries", sent)

    def _post(self, route: str, sent: Mapping[str, object]) -> str:
        url = f"{self.url}/v1/{route}"
        return httpx2.post(url, json=sent, headers=KEY, timeout=TIMEOUT_S).text

    def wait_until_asked(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "asked\n"

    def release(self) -> None:
        """Let its model reply."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def kill(self) -> int:
        """End it, and return how often its model was asked since that was waited for."""
        self._process.kill()
        return self._process.communicate(timeout=TIMEOUT_S)[0].count("asked")


@contextmanager
def server(place: str | Path, moment: str = "after", number: int = 0) -> Iterator[Server]:
    process = Program(
        [sys.executable, "-m", "tests.faults.server", str(place), moment, str(number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stuck = threading.Timer(TIMEOUT_S, process.kill)  # which ends the line that is waited for
    stuck.start()
    try:
        url = process.stdout.readline().strip()
        assert url.startswith("http://")
        yield Server(process, url)
    finally:
        stuck.cancel()
        process.kill()
        process.wait(TIMEOUT_S)
        process.stdin.close()
        process.stdout.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, path: Path, databases: dict[Path, str]) -> str | Path:
    """A memory with nothing in it, in a file and in PostgreSQL."""
    return path if request.param == "sqlite" else databases[path]


def said_to(client: TestClient) -> str:
    return client.post("/v1/chat", json=SAID, headers=KEY).text


# The commits of a chat: the claim, the message, what the model cost, the reply, its index.
@pytest.mark.parametrize(
    ("moment", "number", "stream"),
    [
        ("after", 1, False),
        ("after", 2, False),
        ("after", 3, False),
        ("before", 4, False),
        ("after", 4, False),
        ("before", 4, True),
    ],
)
def test_a_chat_sent_again_after_a_kill_is_kept_once(
    place: str | Path, moment: str, number: int, stream: bool
) -> None:
    is_kept = (moment, number) == ("after", 4)
    said = SAID | {"stream": stream}
    llm = FakeLLM(lambda _: "In Portugal.")
    with serving(place, llm=llm) as beside:  # which has the memory open all the time
        with server(place, moment, number) as killed:
            with pytest.raises(httpx2.TransportError):
                killed.chat(said)
            asked = killed.kill()
        first = beside.post("/v1/chat", json=said, headers=KEY)
        with serving(place, llm=llm) as restarted:
            again = restarted.post("/v1/chat", json=said, headers=KEY)
            assert texts(restarted) == ["Where is Porto?", "In Portugal."]
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.headers["idempotent-replayed"] == "true"
    assert asked == (number > 2)
    assert len(llm.requests) == (0 if is_kept else 1)


# The commits of an add: the claim, the entries, their index.
@pytest.mark.parametrize(
    ("moment", "number"), [("after", 1), ("before", 2), ("after", 2), ("after", 3)]
)
def test_an_add_sent_again_after_a_kill_answers_with_its_ids(
    place: str | Path, moment: str, number: int
) -> None:
    sent = {"messages": [{"content": f"Note {each}."} for each in range(3)]}
    with server(place, moment, number) as killed, pytest.raises(httpx2.TransportError):
        killed.add(sent)
    with serving(place) as restarted:
        again = restarted.post("/v1/entries", json=sent, headers=KEY)
        third = restarted.post("/v1/entries", json=sent, headers=KEY)
        ids = [entry["id"] for entry in restarted.get("/v1/entries").json()["entries"]]
    assert again.json()["ids"] == ids
    assert len(ids) == 3
    assert third.json() == again.json()
    is_kept = (moment, number) in (("after", 2), ("after", 3))
    assert again.headers.get("idempotent-replayed") == ("true" if is_kept else None)


def texts(client: TestClient) -> list[str]:
    return [entry["text"] for entry in client.get("/v1/entries").json()["entries"]]


def test_two_servers_that_get_one_chat_eight_times_ask_the_model_once(
    place: str | Path,
) -> None:
    llm = FakeLLM(lambda _: "In Spain.")
    with (
        ThreadPoolExecutor(9) as threads,
        serving(place, llm=llm) as beside,
        server(place, "held") as held,
    ):
        first = threads.submit(held.chat)
        held.wait_until_asked()
        more = [threads.submit(held.chat) for _ in range(4)]
        more += [threads.submit(said_to, beside) for _ in range(4)]
        held.release()
        assert {reply.result(TIMEOUT_S) for reply in more} == {first.result(TIMEOUT_S)}
        assert texts(beside) == ["Where is Porto?", "In Portugal."]
        assert (held.kill(), llm.requests) == (0, [])


def test_a_server_that_waits_for_another_one_takes_over_when_that_is_killed(
    place: str | Path,
) -> None:
    llm = FakeLLM(["In Portugal, I say."])
    with (
        ThreadPoolExecutor(2) as threads,
        serving(place, llm=llm) as beside,
        server(place, "held") as held,
    ):
        lost = threads.submit(held.chat)
        held.wait_until_asked()
        waiting = threads.submit(said_to, beside)
        with pytest.raises(TimeoutError):
            waiting.result(0.2)
        held.kill()
        assert isinstance(lost.exception(TIMEOUT_S), httpx2.TransportError)
        assert "In Portugal, I say." in waiting.result(TIMEOUT_S)
        assert texts(beside) == ["Where is Porto?", "In Portugal, I say."]
