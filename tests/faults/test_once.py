"""Chats sent again to servers that were killed: kept once, and paid for at most once more."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.faults.test_processes import ROOT, TIMEOUT_S
from tests.serve.conftest import serving
from treering.llm.scripted import ScriptedLLM

KEY = {"Idempotency-Key": "b7d1-0001"}
SAID = {"message": "Where is Porto?"}


class Server:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self._process = process
        self.url = url

    def chat(self, *, stream: bool = False) -> str:
        return httpx2.post(
            f"{self.url}/v1/chat", json=SAID | {"stream": stream}, headers=KEY, timeout=TIMEOUT_S
        ).text

    def kill(self) -> int:
        """End it, and return how often its model was asked."""
        self._process.kill()
        return self._process.communicate(timeout=TIMEOUT_S)[0].count("asked")


@contextmanager
def server(path: Path, moment: str = "after", number: int = 0) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.server", str(path), moment, str(number)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
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
        process.stdout.close()


# The commits of a chat: the claim, the message, what the model cost, the reply, its index.
@pytest.mark.parametrize(
    ("moment", "number", "stream"),
    [
        ("after", 1, False),
        ("after", 2, False),
        ("after", 3, False),
        ("before", 4, False),
        ("after", 4, False),
        ("after", 2, True),
        ("before", 4, True),
        ("after", 4, True),
    ],
)
def test_a_chat_sent_again_after_a_kill_is_kept_once(
    path: Path, moment: str, number: int, stream: bool
) -> None:
    is_kept = (moment, number) == ("after", 4)
    said = SAID | {"stream": stream}
    llm = ScriptedLLM(lambda _: "In Portugal.")
    with serving(path, llm=llm) as beside:  # which has the file open all the time
        with server(path, moment, number) as killed:
            with pytest.raises(httpx2.TransportError):
                killed.chat(stream=stream)
            asked = killed.kill()
        first = beside.post("/v1/chat", json=said, headers=KEY)
        with serving(path, llm=llm) as restarted:
            again = restarted.post("/v1/chat", json=said, headers=KEY)
            texts = [entry["text"] for entry in restarted.get("/v1/entries").json()["entries"]]
    assert texts == ["Where is Porto?", "In Portugal."]
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.headers["idempotent-replayed"] == "true"
    assert asked == (number > 2)
    assert len(llm.requests) == (0 if is_kept else 1)


def test_two_servers_that_get_one_chat_eight_times_at_once_ask_the_model_once(path: Path) -> None:
    with server(path) as one, server(path) as other, ThreadPoolExecutor(8) as threads:
        servers = [one, other] * 4
        replies = set(threads.map(Server.chat, servers))
        asked = one.kill() + other.kill()
    assert (len(replies), asked) == (1, 1)
    with serving(path) as client:
        entries = client.get("/v1/entries").json()["entries"]
        assert [entry["text"] for entry in entries] == ["Where is Porto?", "In Portugal."]
        assert client.get("/v1/stats").json()["spent"][0]["calls"] == 1
