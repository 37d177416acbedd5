"""Python programs that tests start, each in a process of its own, without the cost of a start.

To start Python and to import treering takes half a second to two of processor time, several times
what most programs of tests do. So ``Program`` and ``run`` fork them of a process that has done it
(``tests/fork_server.py``). All else is as with ``subprocess``, whose arguments they take: it is a
real process, with an environment, a folder and standard files of its own, which signals reach, and
which is waited for. Where a test is about the start itself it uses ``subprocess``.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, AnyStr, Final, Literal, overload

from tests.fork_server import LEFT, PID, SIZE, Request

ROOT: Final = Path(__file__).parents[1]
TIMEOUT_S: Final = 60.0

FLAGS: Final = ("-B", "-P")
"""Of the interpreter: write no compiled modules, and import none from the folder one is in."""

Arguments = Sequence[str | os.PathLike[str]]

_SET_CHILD_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER


class ForkServer:
    """The process that programs are forked of; it ends with this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection, theirs = socket.socketpair()
        self._connection.settimeout(TIMEOUT_S)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        # A second thread would make a fork unsafe: of NumPy's there is one for each core.
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            cwd=ROOT,
            env=environment,
        )
        theirs.close()

    def fork(self, request: Request, files: Sequence[int]) -> int:
        """Start a program with these standard files; the number of its process."""
        content = json.dumps(asdict(request)).encode()
        with self._lock, _adopting():
            socket.send_fds(self._connection, [SIZE.pack(len(content))], files)
            self._connection.sendall(content)
            number = self._connection.recv(PID.size)
            assert self._connection.recv(len(LEFT)) == LEFT, "the fork server has ended"
        return int(PID.unpack(number)[0])

    def stop(self) -> None:
        self._connection.close()
        self._process.wait(TIMEOUT_S)


@contextmanager
def _adopting() -> Iterator[None]:
    """Become the parent of what processes leave that this one has started, and that end now."""
    library = ctypes.CDLL(None)
    assert library.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    try:
        yield
    finally:
        library.prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@cache
def _server() -> ForkServer:
    server = ForkServer()
    atexit.register(server.stop)
    return server


class Program(subprocess.Popen[AnyStr]):
    """A process that runs ``python -m MODULE …`` or ``python -c CODE …``.

    Where no process can be adopted it is started as any other, and so is one that asks for an
    encoding of its standard files: that is a matter of the start.
    """

    if sys.platform == "linux":

        def _execute_child(self, *given: Any) -> None:
            args, executable, preexec_fn, _, pass_fds, cwd, env, _, _, shell, *ends = given[:16]
            environment = dict(os.environ if env is None else env)
            if "PYTHONIOENCODING" in environment:
                super()._execute_child(*given)  # type: ignore[misc]
                return
            python, *arguments = (os.fspath(part) for part in args)
            assert python == sys.executable
            flags = list(takewhile(FLAGS.__contains__, arguments))
            arguments = arguments[len(flags) :]
            assert arguments[0] in ("-m", "-c")
            assert (executable, preexec_fn, tuple(pass_fds), shell) == (None, None, (), False)
            folder = str(Path(cwd or "").absolute())
            is_session = given[-2]
            request = Request(arguments, folder, environment, is_session, "-P" not in flags)
            theirs = (ends[0], ends[3], ends[5])
            files = [number if end == -1 else end for number, end in enumerate(theirs)]
            try:
                self.pid = _server().fork(request, files)
                self._child_created = True
            finally:
                self._close_pipe_fds(*ends)  # type: ignore[attr-defined]


@overload
def run(
    arguments: Arguments, *, text: Literal[True], content: str | None = None, **options: Any
) -> subprocess.CompletedProcess[str]: ...


@overload
def run(
    arguments: Arguments, *, content: bytes | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]: ...


def run(
    arguments: Arguments,
    *,
    content: str | bytes | None = None,
    capture_output: bool = False,
    timeout: float = TIMEOUT_S,
    check: bool = False,
    **options: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run a program to its end, as ``subprocess.run`` does; ``content`` is what it reads."""
    if content is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Program[Any](arguments, **options) as process:
        try:
            output, errors = process.communicate(content, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(arguments, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done
