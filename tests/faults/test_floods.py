"""Replies of a model server that never end a line: the server keeps little of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event

import httpx2
import pytest

from tests.faults.conftest import Note
from tests.faults.processes import ROOT
from tests.llm.chat_server import playing, says
from tests.programs import Program

if not Path("/proc/self/status").is_file():
    pytest.skip("nothing tells here how much memory a process takes", allow_module_level=True)

MB = 1 << 20
KEPT = 4 * MB
PIECE = b"a" * (MB // 16)
_SERVER = """
import sys
from pathlib import Path
from tests.embedders import HashingEmbedder
from treering.serve.run import run
from treering.serve.settings import ServerSettings
path, upstream, kept = sys.argv[1:]
settings = ServerSettings(
    Path(path), port=0, embedder=HashingEmbedder(), upstream=upstream, max_bytes=int(kept)
)
run(settings, lambda url: print(url, flush=True))
"""


@contextmanager
def proxy(path: Path, upstream: str) -> Iterator[tuple[str, int]]:
    """The address and process of a server that passes chats on."""
    command = [sys.executable, "-c", _SERVER, str(path), upstream, str(KEPT)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with Program(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.terminate()


def most_memory(process: int) -> int:
    """The most bytes of main memory that a process has taken so far."""
    lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def floods(size: int, kind: str) -> Callable[[BaseHTTPRequestHandler, Event], None]:
    """A reply of so many bytes without a line break."""

    def act(handler: BaseHTTPRequestHandler, over: Event) -> None:
        handler.send_response(200)
        handler.send_header("content-type", kind)
        handler.end_headers()
        try:
            for _ in range(size // len(PIECE)):
                handler.wfile.write(PIECE)
        except ConnectionError:
            pass  # the server has seen enough
        handler.close_connection = True

    return act


def asked(url: str, *, stream: bool) -> tuple[int, int]:
    """The status of an answer, and how many bytes of it come."""
    body = {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "Hello"}]}
    with httpx2.stream("POST", f"{url}/v1/chat/completions", json=body, timeout=100) as answer:
        return answer.status_code, sum(map(len, answer.iter_bytes()))


def test_a_reply_without_a_line_break_is_passed_on_in_little_memory(
    path: Path, rounds: Callable[[int], int], note: Note
) -> None:
    size = min(rounds(40), 160) * MB
    acts = (says("Hi."), floods(size, "text/event-stream"), floods(size, "application/json"))
    with playing(*acts, says("Again.")) as model, proxy(path, model.url) as (url, process):
        asked(url, stream=False)
        before = most_memory(process)
        assert asked(url, stream=True) == (200, size)
        assert asked(url, stream=False)[0] == 502
        growth = most_memory(process) - before
        assert growth < 8 * KEPT, f"{growth:,} bytes"
        assert asked(url, stream=False)[0] == 200
    note("a reply without a line break", megabytes=size // MB, megabytes_held=growth // MB)
