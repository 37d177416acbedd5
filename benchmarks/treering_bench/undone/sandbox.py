"""Running a version of a function on made-up inputs, apart from everything else.

Opt-in: only measuring runs code, nothing else of treering does. One interpreter process per
version, with a limit on memory and time, behind a boundary of the kernel (``boundary.py``): no
network, no further processes, no file but Python's own to read and none to write.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from treering.errors import InputError

BOUNDARY = Path(__file__).with_name("boundary.py")
CHILD = Path(__file__).with_name("sandbox_child.py")
CHECK_S = 30.0
"""Setting the boundary up takes a tenth of a second; this bounds a machine that hangs."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What code under test may use: ``seconds`` in all, ``each`` per call, ``memory`` in bytes."""

    seconds: float = 5.0
    each: float = 0.25
    memory: int = 512 << 20


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """How one call ended.

    ``end`` is ``value``, ``raise``, ``timeout``, ``unbound`` (the arguments do not fit the
    signature) or ``lost`` (the process died or ran out of time first); ``kind`` is the built-in
    class of what was raised; ``text`` the canonical value or the message; ``printed`` the output.
    """

    end: str
    kind: str = ""
    text: str = ""
    printed: str = ""

    def __str__(self) -> str:
        match self.end:
            case "value":
                return f"gives {self.text}"
            case "raise":
                return f"raises {self.kind}: {self.text}"
            case "unbound":
                return f"does not fit ({self.text})"
            case _:
                return "does not finish"


LOST = CallOutcome("lost")
_FIELDS = {"end", "kind", "text", "printed"}


@dataclass(frozen=True, slots=True)
class VersionRun:
    """Outcomes of one version: of loading its source, and of each call in the order asked."""

    loaded: CallOutcome
    calls: tuple[CallOutcome, ...]


def run_version(
    source: str, function: str, calls: Sequence[str], limits: SandboxLimits | None = None
) -> VersionRun:
    """Load ``source`` and call ``function`` on each of ``calls`` (tuple literals, as text).

    Raises InputError where the kernel offers no boundary.
    """
    require_boundary()
    limits = limits or SandboxLimits()
    job = {
        "source": source,
        "function": function,
        "calls": list(calls),
        "memory": limits.memory,
        "seconds": limits.seconds,
        "each": limits.each,
    }
    outcomes = _outcomes(_replies(json.dumps(job), limits))[: 1 + len(calls)]
    lost = [LOST] * (1 + len(calls) - len(outcomes))
    loaded, *called = outcomes + lost
    return VersionRun(loaded, tuple(called))


@cache
def require_boundary() -> None:
    """Raises InputError where the kernel cannot shut recorded code in."""
    checked = subprocess.run(
        [sys.executable, "-I", "-S", str(BOUNDARY), "--check"],
        capture_output=True,
        text=True,
        timeout=CHECK_S,
        check=False,
    )
    if checked.returncode:
        reason = checked.stderr.strip() or f"exit code {checked.returncode}"
        raise InputError(
            f"recorded code is run only behind Landlock and seccomp, which fail here ({reason}); "
            "use Linux 5.13 or newer with both, or measure what runs no code, such as "
            "`treering-bench run forgetting --policy static`"
        )


def _outcomes(lines: Sequence[str]) -> list[CallOutcome]:
    """The outcomes up to the first line that is none: code under test may have written it."""
    outcomes: list[CallOutcome] = []
    for line in lines:
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            break
        if not isinstance(fields, dict) or fields.keys() != _FIELDS:
            break
        outcomes.append(CallOutcome(**{name: str(value) for name, value in fields.items()}))
    return outcomes


def _replies(job: str, limits: SandboxLimits) -> list[str]:
    """The child's complete lines; it may die at any point, which loses only the rest."""
    with tempfile.TemporaryFile() as replies, tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", str(BOUNDARY), str(CHILD), str(replies.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(replies.fileno(),),
            cwd=folder,
            env={"PYTHONHASHSEED": "0", "PATH": os.defpath},
        )
        try:
            child.communicate(job.encode(), timeout=limits.seconds + 1)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
        replies.seek(0)
        text = replies.read().decode("utf-8", errors="replace")
    return [line for line in text.split("\n")[:-1] if line]
