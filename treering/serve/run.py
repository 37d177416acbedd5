"""Run the server in this process until a signal stops it."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treering.errors import InputError, MissingExtra
from treering.serve.app import create_app
from treering.serve.settings import REQUEST_LOG, STOP_WITHIN_S, ServerSettings

try:
    import uvicorn
except ModuleNotFoundError as missing:
    raise MissingExtra.of("uvicorn", "serve") from missing

from treering.serve.connections import bounded_protocol

if TYPE_CHECKING:
    from fastapi import FastAPI

log = logging.getLogger("treering.serve")

BACKLOG = 2048  # waiting connections: clients come in crowds after a restart


def run(settings: ServerSettings, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; answer requests under way before the file is closed.

    Call ``ready`` with the address once the port is open. Raise InputError if other machines could
    reach the server without a key or if the address is taken, JournalError.
    """
    with _open_port(settings) as listening:
        # After the port: the running server closes the files that the application opens.
        app = create_app(settings)
        if settings.log_requests:
            requests = logging.getLogger(REQUEST_LOG)
            requests.addHandler(logging.StreamHandler())
            requests.setLevel(logging.INFO)
        host, port = listening.getsockname()[:2]
        ready(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
        try:
            uvicorn.Server(configuration(app, settings)).run(sockets=[listening])
        except KeyboardInterrupt as stop:
            # After SIGTERM the command line ends the process by that, and waits for no thread.
            if app.state.spaces.calls_left and type(stop) is KeyboardInterrupt:
                # Python would wait for their threads, which may embed a text for minutes. They can
                # store nothing: the file is closed, and their requests were not acknowledged.
                logging.shutdown()
                os._exit(128 + signal.SIGINT)
            raise


def configuration(app: FastAPI, settings: ServerSettings, **options: Any) -> uvicorn.Config:
    """Return uvicorn's configuration; ``options`` are further ones of uvicorn."""
    defaults: dict[str, Any] = {
        "log_config": None,
        "access_log": False,  # paths hold ids and filters; the metrics count requests
        "server_header": False,
        "timeout_graceful_shutdown": STOP_WITHIN_S,
        "http": bounded_protocol(settings),
        "ws": "none",
    }
    return uvicorn.Config(app, **{**defaults, **options})


def _open_port(settings: ServerSettings) -> socket.socket:
    """Open the port; connections wait in it until the server answers them."""
    try:
        addresses = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        family, _, _, _, address = addresses[0]
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        raise InputError(
            f"cannot listen on {settings.host}:{settings.port} ({error}); give another --port, "
            "or 0 for a free one"
        ) from error
