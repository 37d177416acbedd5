"""The far side of ``treering_bench.undone.sandbox``: runs one version of a function on many inputs.

Started in an isolated interpreter behind ``boundary.py``, so it imports nothing of treering. Reads
one JSON job on standard input and writes one JSON line per outcome on the descriptor named by its
only argument, apart from what the code under test prints. The boundary and the limits keep the
machine safe from that code; they do not keep it from lying about itself.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import io
import json
import math
import os
import resource
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

TEXT_LIMIT = 2000
"""Characters kept of a value or of printed text: enough to tell two outcomes apart."""

FLOAT_DIGITS = 9
"""Significant digits compared: sums in another order differ in the last few."""

FORBIDDEN_EVENTS = (
    "socket.",
    "subprocess.",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.kill",
    "os.posix_spawn",
    "os.system",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.chmod",
    "os.chown",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.putenv",
    "shutil.",
    "ctypes.",
    "pty.",
    "webbrowser.",
    "urllib.",
    "signal.pthread_kill",
    "syslog.",
)


class TimeUp(BaseException):
    """One call took longer than its share; not an ``Exception``, so most code lets it pass."""


def limit_resources(memory: int, seconds: float) -> None:
    """Cap memory (bytes) and processor time (seconds); no new files, processes or core dumps."""
    whole = math.ceil(seconds)
    for kind, amount in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, whole),
        (resource.RLIMIT_FSIZE, 1 << 20),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (amount, amount))


def forbid_side_effects() -> None:
    """Refuse sockets, processes and changes to files by an error, where the kernel might be silent.

    Code can empty this list, and gains nothing: the boundary is the kernel's.
    """

    def hook(event: str, args: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(args[1], str) and not set(args[1]) <= set("rbtU")
        opens_to_write = event == "open" and args[1] is None and args[2] & (os.O_WRONLY | os.O_RDWR)
        if writes or opens_to_write or event.startswith(FORBIDDEN_EVENTS):
            raise PermissionError(f"{event} is not available to code under test")

    sys.addaudithook(hook)


def canonical(value: object, depth: int = 0) -> str:
    """A text equal for values that compare equal: sets and dicts sorted, numbers by value."""
    if depth > 20:
        return "..."
    deeper = depth + 1
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 1 << 53):
        return repr(int(value))
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 1 << 53
        return repr(int(value)) if whole else f"{value:.{FLOAT_DIGITS}g}"
    if isinstance(value, dict):
        pairs = sorted(f"{canonical(k, deeper)}: {canonical(v, deeper)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(canonical(v, deeper) for v in value)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(canonical(v, deeper) for v in value) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(canonical(v, deeper) for v in value) + ",)"
    if value is None or isinstance(value, str | int | bytes | complex):
        return repr(value)
    return f"<{type(value).__name__}>"


def builtin_kind(error: BaseException) -> str:
    """The nearest built-in class of ``error``: what an ``except`` written for it would name."""
    return next(c.__name__ for c in type(error).__mro__ if hasattr(builtins, c.__name__))


def guarded(action: Callable[[], object], seconds: float) -> dict[str, str]:
    """Run ``action`` for at most ``seconds`` and describe how it ended."""
    printed = io.StringIO()

    def expire(_signal: int, _frame: FrameType | None) -> None:
        raise TimeUp

    signal.signal(signal.SIGALRM, expire)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
            try:
                outcome = {"end": "value", "kind": "", "text": canonical(action())}
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    except TimeUp:
        outcome = {"end": "timeout", "kind": "", "text": ""}
    # The code under test may raise anything, SystemExit included: that is an outcome to report.
    except BaseException as error:
        outcome = {"end": "raise", "kind": builtin_kind(error), "text": str(error)}
    outcome["text"] = outcome["text"][:TEXT_LIMIT]
    outcome["printed"] = printed.getvalue()[:TEXT_LIMIT]
    return outcome


def call(function: Callable[..., object], arguments: str, seconds: float) -> dict[str, str]:
    """Outcome of ``function`` on fresh copies of ``arguments``, a tuple literal."""
    import ast

    values = ast.literal_eval(arguments)
    try:
        inspect.signature(function).bind(*values)
    except TypeError as error:
        return {"end": "unbound", "kind": "", "text": str(error)[:TEXT_LIMIT], "printed": ""}
    return guarded(lambda: function(*values), seconds)


def main() -> None:
    """Load the source, then answer each call of the job with one line."""
    job = json.load(sys.stdin)
    replies = os.fdopen(int(sys.argv[1]), "w", encoding="utf-8")

    def reply(outcome: dict[str, str]) -> None:
        replies.write(json.dumps(outcome) + "\n")
        replies.flush()

    sys.stdin = io.StringIO()
    limit_resources(job["memory"], job["seconds"])
    forbid_side_effects()
    module: dict[str, Any] = {"__name__": "under_test", "__builtins__": builtins}
    loaded = guarded(lambda: exec(compile(job["source"], "<code>", "exec"), module), job["each"])
    loaded["text"] = loaded["text"] if loaded["end"] != "value" else ""
    reply(loaded)
    function = module.get(job["function"])
    if not callable(function):
        return
    for arguments in job["calls"]:
        reply(call(function, arguments, job["each"]))


if __name__ == "__main__":
    main()
