"""A real HTTP server on loopback that plays scripted chat completions, good and bad."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Act = Callable[[BaseHTTPRequestHandler, threading.Event], None]


@dataclass
class Seen:
    """A request as it arrived, header names in lower case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class ChatServer:
    """The acts still to play, the requests seen, and the event that frees hanging ones."""

    url: str
    acts: deque[Act]
    requests: list[Seen] = field(default_factory=list)


@contextmanager
def playing(*acts: Act) -> Iterator[ChatServer]:
    over = threading.Event()
    script = ChatServer("", deque(acts))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._play(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def do_GET(self) -> None:
            self._play({})

        def _play(self, body: dict[str, Any]) -> None:
            script.requests.append(
                Seen(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
            )
            script.acts.popleft()(self, over)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        over.set()
        server.shutdown()
        thread.join(timeout=10)
        server.server_close()


def send(handler: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {"content-type": "application/json", **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def says(text: str | None, finish: str = "stop", **more: Any) -> Act:
    completion = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    } | more
    return body(json.dumps(completion).encode())


def body(content: bytes, **headers: str) -> Act:
    return lambda handler, _: send(handler, 200, content, **headers)


def fails(status: int, message: str = "no", **headers: str) -> Act:
    return error(status, {"message": message}, **headers)


def error(status: int, error: dict[str, str], **headers: str) -> Act:
    content = json.dumps({"error": error}).encode()
    return lambda handler, _: send(handler, status, content, **headers)


def hangs(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    over.wait(timeout=60)


def hangs_up(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    handler.close_connection = True


def chunk(text: str | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "served-model",
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}],
    } | more


USAGE_CHUNK = chunk(
    choices=[], usage={"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}
)


def streams(*chunks: dict[str, Any], done: bool = True, promised: int = 0) -> Act:
    """Server-sent events; ``promised`` further bytes are announced and never sent."""
    events = b"".join(f"data: {json.dumps(one)}\n\n".encode() for one in chunks)
    events += b"data: [DONE]\n\n" if done else b""

    def act(handler: BaseHTTPRequestHandler, _: threading.Event) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("content-length", str(len(events) + promised))
        handler.end_headers()
        handler.wfile.write(events)
        handler.close_connection = True

    return act
