"""How long a hook holds a prompt: the whole process, as a client starts it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from treering.agents.launch import own_command
from treering_bench.perf.texts import questions

TIMEOUT_S: Final = 60.0
WARM_UPS: Final = 3
IDLE_S: Final = "60"
"""How long a server of hooks waits for the next; longer than any hook takes."""


@dataclass(frozen=True, slots=True)
class HookTimer:
    """Runs hooks of one memory, with all that they write in a folder of its own.

    So no hook of the user's is in the way. The folder's path has to be short, since the address of
    a socket is below it.
    """

    memory: Path
    data_folder: Path

    def measure(self, prompts: int, colds: int) -> dict[str, Any]:
        """Milliseconds of cold hooks, which start a server, and of warm ones, which have one."""
        texts = questions()
        try:
            cold = [self._cold(prompt) for prompt in islice(texts, colds)]
            for prompt in islice(texts, WARM_UPS):
                self._timed(prompt)
            warm = [self._timed(prompt) for prompt in islice(texts, prompts)]
        finally:
            self._run("stop")
        size = self.memory.stat().st_size
        return {"memory_bytes": size, "cold": _summary(cold), "warm": _summary(warm)}

    def _cold(self, prompt: str) -> tuple[float, bool]:
        self._run("stop")
        return self._timed(prompt)

    def _timed(self, prompt: str) -> tuple[float, bool]:
        """How many seconds a hook took, and whether it was in time."""
        event = {"session_id": "s", "cwd": str(self.memory.parent), "prompt": prompt}
        start = time.perf_counter()
        answer = self._run("prompt", json.dumps(event))
        took = time.perf_counter() - start
        return took, "systemMessage" not in json.loads(answer)

    def _run(self, name: str, event: str = "") -> bytes:
        command = [*own_command(), "hook", name, "--memory", str(self.memory)]
        own = {"XDG_DATA_HOME": str(self.data_folder), "TREERING_HOOK_IDLE": IDLE_S}
        return subprocess.run(
            command,
            input=event.encode(),
            env=os.environ | own,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
        ).stdout


def _summary(runs: list[tuple[float, bool]]) -> dict[str, Any]:
    if not runs:
        return {"runs": 0}
    times = 1000 * np.array([took for took, _ in runs])
    quantiles = {f"p{part}_ms": round(float(np.percentile(times, part))) for part in (50, 95)}
    late = sum(not in_time for _, in_time in runs)
    return {"runs": len(runs), **quantiles, "max_ms": round(float(times.max())), "late": late}
