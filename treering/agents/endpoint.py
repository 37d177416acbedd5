"""Where the warm server of a memory is reached, and the lines that go to and fro.

On Unix a socket in a folder that only its owner may enter; on Windows, which has none that Python
knows, a port of this machine and a token in a file that only its owner can read. One line of JSON
goes there, one comes back.
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
"""How it shows that no server runs, or that it is just ending."""

IS_UNIX = hasattr(socket, "AF_UNIX") and sys.platform != "win32"


class HookEndpoint:
    """The address of one memory's server. ``path`` is the socket, or the file with port and
    token; ``lock`` is held by the server that runs.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.path = folder / f"{key}.{'sock' if IS_UNIX else 'port'}"
        self.lock = folder / f"{key}.lock"


def of(memory: str) -> HookEndpoint:
    """The endpoint of a memory's file. A server of another version is another one."""
    identity = f"{treering.__version__} {PROTOCOL} {Path(memory).resolve()}"
    key = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return HookEndpoint(_folder(key), key)


def exchange(place: HookEndpoint, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """The server's reply. Raises one of ``NOT_THERE``, or another OSError."""
    with closing(_connect(place, timeout_s)) as connection, connection.makefile("rb") as stream:
        connection.sendall(json.dumps(request).encode() + b"\n")
        line = read_line(stream)
    if not line:
        raise ConnectionResetError("the server ended before it answered")
    reply = json.loads(line)
    return reply if isinstance(reply, dict) else {}


def listen(place: HookEndpoint) -> tuple[socket.socket, str]:
    """A socket that waits for connections, and the token that each has to bring."""
    remove(place)  # what a server left that was killed; whoever listens holds the lock
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
    """Remove the address, so that nobody knocks where nobody is."""
    place.path.unlink(missing_ok=True)


def admits(stream: BinaryIO, token: str) -> bool:
    """Whether a connection brings the token, if there is one."""
    return not token or hmac.compare_digest(read_line(stream).strip(), token.encode())


def read_line(stream: BinaryIO) -> bytes:
    """A line; empty if the connection ends before it does. Raises ValueError if it is too long."""
    line = stream.readline(MAX_LINE_BYTES + 1)
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a line of more than {MAX_LINE_BYTES} bytes")
    return line if line.endswith(b"\n") else b""


def start_server(memory: str) -> None:
    """Start the server in the background; it outlives this process and its terminal."""
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
    """A folder that only its owner may enter. Raises PermissionError for any other."""
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
