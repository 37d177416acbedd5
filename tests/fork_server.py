"""A process that has imported treering, and of which the programs of tests are forked.

``python -m tests.fork_server NUMBER`` serves the socket of that number. It has one thread, and
neither a file nor a connection open: a fork of it is as good as a new process, and there in a
hundredth of the time. ``tests/programs.py`` starts it.
"""

from __future__ import annotations

import array
import atexit
import gc
import json
import os
import runpy
import socket
import struct
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Final

PRELOADED: Final = (
    "treering.cli.main",
    "treering.cli.subapps",
    "treering.memory",
    "treering.serve.run",
    "treering.llm.scripted",
    "treering.journal.postgres.database",
    "tests.embedders",
)
"""What most programs import. Where an extra is missing, programs do without it, too."""

STANDARD: Final = 3
"""Standard input, output and errors."""

SIZE: Final = struct.Struct("!I")
PID: Final = struct.Struct("!i")
LEFT: Final = b"\0"
"""Says that a program has become a child of the process of the tests."""


@dataclass(frozen=True)
class Request:
    """A program, ``-m MODULE …`` or ``-c CODE …``, and what it starts with."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    is_session: bool
    """Whether it begins a session: a terminal's signals do not reach it."""
    imports_from_folder: bool


def main() -> None:
    paths = sys.path[1:]
    for module in PRELOADED:
        with suppress(ImportError):
            import_module(module)
    gc.collect()
    gc.freeze()  # a collection in a child would copy all of it
    connection = socket.socket(fileno=int(sys.argv[1]))
    while (received := _receive(connection)) is not None:
        request, files = received
        if _is_program(connection):
            connection.close()
            sys.path[:] = paths
            _start(request, files)
            _run(request.arguments)
            return  # the end of the interpreter is that of the program
        for file in files:
            os.close(file)


def _receive(connection: socket.socket) -> tuple[Request, list[int]] | None:
    """The next program and its standard files; nothing once the tests have ended."""
    files = array.array("i")
    header, ancillary, _, _ = connection.recvmsg(
        SIZE.size, socket.CMSG_SPACE(STANDARD * files.itemsize)
    )
    if not header:
        return None
    for _, _, data in ancillary:
        files.frombytes(data)
    content = connection.recv(SIZE.unpack(header)[0], socket.MSG_WAITALL)
    return Request(**json.loads(content)), list(files)


def _is_program(connection: socket.socket) -> bool:
    """Fork twice, and send the number of the second process; true in that one.

    The first ends at once, so that the process of the tests adopts the second: it can wait for it,
    and sees how it ends, as if it had started it by itself.
    """
    if (between := os.fork()) == 0:
        if (program := os.fork()) == 0:
            return True
        connection.sendall(PID.pack(program))
        os._exit(0)
    os.waitpid(between, 0)
    connection.sendall(LEFT)
    return False


def _start(request: Request, files: list[int]) -> None:
    """Make this process what Python is when a program begins."""
    if request.is_session:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    tempfile.tempdir = None  # an import may have asked for the folder before
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [*[request.folder] * request.imports_from_folder, *filter(None, named)]
    _open_standard_files()


def _open_standard_files() -> None:
    encoding, errors = sys.stdin.encoding, sys.stdin.errors
    for name, stream in {
        "stdin": os.fdopen(0, "r", -1, encoding, errors, "\n", closefd=False),
        "stdout": os.fdopen(1, "w", -1, encoding, errors, "\n", closefd=False),
        "stderr": os.fdopen(2, "w", 1, encoding, "backslashreplace", "\n", closefd=False),
    }.items():
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _run(arguments: list[str]) -> None:
    """Run the program. A module's end is quick: its variables have gone with its functions, and to
    free what this process has imported takes ten times what a fork takes.
    """
    way, program, *others = arguments
    sys.argv = [way, *others]
    if way == "-c":
        sys.modules["__main__"] = module = ModuleType("__main__")
        exec(compile(program, "<string>", "exec"), vars(module))
        return
    code = 0
    try:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise  # with a message, which is printed
        code = end.code or 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    main()
