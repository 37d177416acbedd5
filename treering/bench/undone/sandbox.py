"""Running a version of a function on made-up inputs, apart from everything else.

Opt-in: nothing else of treering runs code. One interpreter process per version, with a limit on
memory and time, no network, no files written and no further processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CHILD = Path(__file__).with_name("sandbox_child.py")


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


@dataclass(frozen=True, slots=True)
class VersionRun:
    """Outcomes of one version: of loading its source, and of each call in the order asked."""

    loaded: CallOutcome
    calls: tuple[CallOutcome, ...]


def run_version(
    source: str, function: str, calls: Sequence[str], limits: SandboxLimits | None = None
) -> VersionRun:
    """Load ``source`` and call ``function`` on each of ``calls`` (tuple literals, as text)."""
    limits = limits or SandboxLimits()
    job = {
        "source": source,
        "function": function,
        "calls": list(calls),
        "memory": limits.memory,
        "seconds": limits.seconds,
        "each": limits.each,
    }
    outcomes = [CallOutcome(**json.loads(line)) for line in _replies(json.dumps(job), limits)]
    lost = [LOST] * (1 + len(calls) - len(outcomes))
    loaded, *called = outcomes + lost
    return VersionRun(loaded, tuple(called))


def _replies(job: str, limits: SandboxLimits) -> list[str]:
    """The child's complete lines; it may die at any point, which loses only the rest."""
    with tempfile.TemporaryFile() as replies, tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", str(CHILD), str(replies.fileno())],
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
