"""Runs unit tests against a version of a project: the far side of ``sessions.py``.

Reads one JSON job on standard input, ``{root, module, tests}``, and prints one JSON list: for each
test ``passed``, ``failed`` or ``broken`` (it needs what is not there). Started as a process of its
own behind ``boundary.py``, with limits on memory and time.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import io
import json
import os
import re
import resource
import signal
import sys
import unittest
import unittest.mock
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import Any

MISSING = ("NameError", "ImportError", "ModuleNotFoundError", "FileNotFoundError")
"""Errors of a test that lacks a fixture, not of the code under test."""
SECONDS = 5.0
MEMORY = 4 << 30
_NAME = re.compile(r"def (\w+)\((.*?)\)")


class TimeUp(BaseException):
    """One call took longer than its share; not an ``Exception``, so most code lets it pass."""


def guarded(action: Callable[[], object], seconds: float) -> tuple[str, str]:
    """Run ``action`` for at most ``seconds``: the built-in class of its error, and the message.

    Both are empty if it ends without one.
    """

    def expire(_signal: int, _frame: FrameType | None) -> None:
        raise TimeUp

    signal.signal(signal.SIGALRM, expire)
    silent = io.StringIO()
    try:
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
            try:
                action()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    # The code under test may raise anything, SystemExit included: that is an outcome to report.
    except BaseException as error:
        kinds = (kind.__name__ for kind in type(error).__mro__ if hasattr(builtins, kind.__name__))
        return next(kinds), str(error)
    return "", ""


def run(test: str, names: dict[str, Any]) -> str:
    """The outcome of one test, a function that takes nothing or ``self``."""
    header = _NAME.search(test)
    if header is None or header[2].strip() not in ("", "self"):
        return "broken"
    space = dict(names)
    case = unittest.TestCase()
    if any(guarded(lambda: exec(compile(test, "<test>", "exec"), space), SECONDS)):
        return "broken"
    arguments = (case,) if header[2].strip() else ()
    kind, message = guarded(lambda: space[header[1]](*arguments), SECONDS)
    if kind in MISSING or "TestCase' object has no attribute" in message:
        return "broken"
    return "failed" if kind else "passed"


def main() -> None:
    """Do the job."""
    job = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.path.insert(0, job["root"])
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            module = import_module(job["module"])
    # Code that cannot even be imported fails every test.
    except BaseException as error:
        sys.stdout.write(json.dumps([f"no import: {error!r:.200}"] * len(job["tests"])) + "\n")
        return
    import pytest

    usual = {"pytest": pytest, "unittest": unittest, "re": re, "inspect": inspect, "os": os}
    mocks = {name: getattr(unittest.mock, name) for name in unittest.mock.__all__}
    names = usual | mocks | {job["module"].rpartition(".")[2]: module} | vars(module)
    sys.stdout.write(json.dumps([run(test, names) for test in job["tests"]]) + "\n")


if __name__ == "__main__":
    main()
