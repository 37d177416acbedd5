"""The command line, and a stand-in for a language model's endpoint that logs what it is sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.cli.conftest import settings, treering
from tests.llm.chat_server import USAGE_CHUNK, chunk, says, streams

__all__ = ["Endpoint", "endpoint", "settings", "treering"]

Rule = Callable[[str], str]


@dataclass
class Endpoint:
    """An endpoint that answers a prompt, all messages of a request together, by a rule."""

    rule: Rule = lambda _: "Noted."
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        """The prompts in the order in which they came."""
        return ["\n\n".join(said["content"] for said in body["messages"]) for body in self.requests]


@pytest.fixture
def endpoint(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """An endpoint that the command line is configured to use."""
    del settings  # they leave out the variables of this process, and come first
    played = Endpoint()
    lock, over = threading.Lock(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                played.requests.append(body)
                prompt = played.prompts[-1]
            reply = played.rule(prompt)
            act = streams(chunk(reply), chunk(finish="stop"), USAGE_CHUNK)
            (act if body.get("stream") else says(reply))(self, over)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("TREERING_LLM_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("TREERING_LLM_MODEL", "stand-in")
    try:
        yield played
    finally:
        server.shutdown()
        thread.join(timeout=10)
        server.server_close()
