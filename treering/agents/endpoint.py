"""The address of a memory's warm server; one line of JSON is sent there, and one comes back.

On Unix it is a socket in a folder that only its owner may enter. Python lacks such sockets on
Windows: there it is a port of this machine, and a token in a file that only its owner can read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import stat
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import treering
from treering.hooks.places import agents_home, make_private

PROTOCOL = 1
MAX_LINE_BYTES = 1 << 20
_SOCKET_PATH_BYTES = 100
"""A socket's address holds 104 bytes on macOS and 108 on Linux, the last of them a NUL."""

NOT_THERE = (FileNotFoundError, ConnectionError)
"""Errors which show that no server runs, or that it is ending."""

IS_UNIX = hasattr(socket, "AF_UNIX") and sys.platform != "win32"


class HookEndpoint:
    """The address of one memory's server. ``path`` is the socket, or the file with port and
    token; ``lock`` is held by the server that runs.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.path = folder / f"{key}.{'sock' if IS_UNIX else 'port'}"
        self.lock = folder / f"{key}.lock"


def endpoint_for(memory: str) -> HookEndpoint:
    """Return the endpoint of a memory's file. Each version of treering has its own."""
    identity = f"{treering.__version__} {PROTOCOL} {Path(memory).resolve()}"
    key = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return HookEndpoint(_folder(key), key)


def exchange(place: HookEndpoint, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """Return the server's reply. Raise one of ``NOT_THERE``, or another OSError."""
    with closing(_connect(place, timeout_s)) as connection, connection.makefile("rb") as stream:
        connection.sendall(json.dumps(request).encode() + b"\n")
        line = read_line(stream)
    if not line:
        raise ConnectionResetError("the server ended before it answered")
    reply = json.loads(line)
    return reply if isinstance(reply, dict) else {}


def listen(place: HookEndpoint) -> tuple[socket.socket, str]:
    """Return a socket that waits for connections, and the token that each has to send."""
    remove(place)  # of a server that was killed; the caller holds the lock
    if IS_UNIX:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(str(place.path))
        place.path.chmod(0o600)
        server.listen()
        return server, ""
    server = socket.create_server(("127.0.0.1", 0))
    token = os.urandom(24).hex()
    handle = os.open(place.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as stream:
        json.dump({"port": server.getsockname()[1], "token": token}, stream)
    return server, token


def remove(place: HookEndpoint) -> None:
    """Remove the address, so that hooks start another server."""
    place.path.unlink(missing_ok=True)


def admits(stream: BinaryIO, token: str) -> bool:
    """Return whether a connection sends the token, if there is one."""
    return not token or hmac.compare_digest(read_line(stream).strip(), token.encode())


def read_line(stream: BinaryIO) -> bytes:
    """Return a line, empty if the connection ends before it. Raise ValueError for a long one."""
    line = stream.readline(MAX_LINE_BYTES + 1)
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a line of more than {MAX_LINE_BYTES} bytes")
    return line if line.endswith(b"\n") else b""


def start_server(memory: str) -> None:
    """Start the server in the background; it survives this process and its terminal."""
    import subprocess

    # Not by way of the command line, whose parser alone takes a tenth of a second to load.
    command = [sys.executable, "-m", "treering.agents.server", memory]
    log = make_private(agents_home()) / "server.log"
    with log.open("wb") as errors:
        options: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
            options = {"creationflags": flags}
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=agents_home(),  # not the project's folder, which could not be removed then
            **options,
        )


def _connect(place: HookEndpoint, timeout_s: float) -> socket.socket:
    if IS_UNIX:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(timeout_s)
        try:
            connection.connect(str(place.path))
        except BaseException:
            connection.close()
            raise
        return connection
    address = json.loads(place.path.read_bytes())
    connection = socket.create_connection(("127.0.0.1", address["port"]), timeout_s)
    connection.sendall(address["token"].encode() + b"\n")
    return connection


def _folder(key: str) -> Path:
    """Return a folder that only its owner may enter. Raise PermissionError for any other."""
    folder = agents_home() / "run"
    if IS_UNIX and len(os.fsencode(folder / f"{key}.sock")) > _SOCKET_PATH_BYTES:
        folder = Path(tempfile.gettempdir()) / f"treering-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
    else:
        make_private(folder)
    if IS_UNIX:
        status = folder.lstat()
        if (
            not stat.S_ISDIR(status.st_mode)
            or status.st_uid != os.getuid()
            or status.st_mode & 0o077
        ):
            raise PermissionError(f"{folder} is not a folder of yours alone; remove it")
    return folder
