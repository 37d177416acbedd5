"""Running the server in this process until it is told to stop."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treering.errors import InputError, MissingExtra
from treering.serve import traces
from treering.serve.app import create_app
from treering.serve.settings import STOP_WITHIN_S, ServerSettings

try:
    import uvicorn
except ModuleNotFoundError as missing:
    raise MissingExtra.of("uvicorn", "serve") from missing

from treering.serve.connections import ConnectionLimits, bounded_protocol, room_for

if TYPE_CHECKING:
    from fastapi import FastAPI

log = logging.getLogger("treering.serve")

BACKLOG = 2048  # connections that wait to be accepted: clients come in crowds after a restart


def run(settings: ServerSettings, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are answered before the file is closed.

    ``ready`` is called with the address once the port is open. Raises InputError if other machines
    could reach it without a key or if the address is taken, JournalError.
    """
    with _listening(settings) as listening:
        # Once the port is there: what an application opens is closed by the server that runs it.
        app = create_app(settings, traces.from_environment())
        host, port = listening.getsockname()[:2]
        ready(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
        try:
            uvicorn.Server(configuration(app, settings)).run(sockets=[listening])
        except KeyboardInterrupt as stop:
            # After SIGTERM the command line ends the process by that, and waits for no thread.
            if app.state.spaces.calls_left and type(stop) is KeyboardInterrupt:
                # Python would wait for their threads, which may take minutes to embed a long text.
                # They can store nothing any more: the file is closed, and nobody was told they did.
                logging.shutdown()
                os._exit(128 + signal.SIGINT)
            raise


def configuration(app: FastAPI, settings: ServerSettings, **options: Any) -> uvicorn.Config:
    """How uvicorn serves the application; ``options`` are further ones of uvicorn's."""
    limits = ConnectionLimits(
        connections=room_for(settings.max_connections),
        header_bytes=settings.header_bytes,
        header_s=settings.header_s,
        unread_s=settings.unread_s,
    )
    defaults: dict[str, Any] = {
        "log_config": None,
        "access_log": False,  # paths hold ids and filters; the metrics count requests
        "server_header": False,
        "timeout_graceful_shutdown": STOP_WITHIN_S,
        "http": bounded_protocol(limits),
        "ws": "none",
    }
    return uvicorn.Config(app, **{**defaults, **options})


def _listening(settings: ServerSettings) -> socket.socket:
    """The open port; connections wait in it until the server answers them."""
    try:
        addresses = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, _, _, _, address = addresses[0]
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        raise InputError(
            f"cannot listen on {settings.host}:{settings.port} ({error}); give another --port, "
            "or 0 for a free one"
        ) from error
