"""A server on a real port, for clients that bring their own connections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from tests.embedders import HashingEmbedder
from treering.serve.app import create_app
from treering.serve.run import configuration
from treering.serve.settings import ServerSettings


class _Server(uvicorn.Server):
    """Tells another thread when it answers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextmanager
def serving(**options: Any) -> Iterator[str]:
    """The address of a server with the hashing embedder, in a thread of this process."""
    given: dict[str, Any] = {"embedder": HashingEmbedder()} | options
    settings = ServerSettings(**given)
    config = configuration(
        create_app(settings), settings, port=options.get("port", 0), timeout_graceful_shutdown=5
    )
    server = _Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert server.ready.wait(timeout=30)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
    assert not thread.is_alive()
