"""How long a hook holds a prompt: the whole process, as a client starts it.

    python -m benchmarks.hook_latency [--memory FILE] [--entries 100000] [--prompts 200] [--colds 5]

``warm`` asks again and again with a server that runs, ``cold`` has none before each prompt. A hook
that was not in time counts as late; whatever happens, none may take over two seconds. The memory
has turns with random vectors if FILE is not there; prompts are embedded by the bundled model.
Everything but the memory is in a data folder of its own. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.serve_load import build
from treering.agents.launch import own_command
from treering.bench.perf.texts import questions

TIMEOUT_S = 60.0
WARM_UPS = 3


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--memory", type=Path)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--colds", type=int, default=5)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="treering-") as folder:
        memory = options.memory or Path(folder, "memory.db")
        if not memory.exists():
            build(memory, options.entries)
        # Short, as a socket's address has to be; and no hook of the user's own is in the way.
        os.environ |= {"XDG_DATA_HOME": folder, "TREERING_HOOK_IDLE": "60"}
        try:
            print(json.dumps(measure(memory.absolute(), options.prompts, options.colds)))
        finally:
            _command("stop", memory.absolute())


def measure(memory: Path, prompts: int, colds: int) -> dict[str, Any]:
    """Seconds of cold and of warm hooks."""
    asked = questions()
    cold = []
    for prompt in islice(asked, colds):
        _command("stop", memory)
        cold.append(_timed(memory, prompt))
    for prompt in islice(asked, WARM_UPS):
        _timed(memory, prompt)
    warm = [_timed(memory, prompt) for prompt in islice(asked, prompts)]
    return {"memory_bytes": memory.stat().st_size, "cold": _summary(cold), "warm": _summary(warm)}


def _timed(memory: Path, prompt: str) -> tuple[float, bool]:
    """How long a hook took, and whether it was in time."""
    event = json.dumps({"session_id": "s", "cwd": str(memory.parent), "prompt": prompt})
    command = [*own_command(), "hook", "prompt", "--memory", str(memory)]
    start = time.perf_counter()
    done = subprocess.run(command, input=event.encode(), capture_output=True, timeout=TIMEOUT_S)
    took = time.perf_counter() - start
    answer = json.loads(done.stdout)
    return took, "systemMessage" not in answer


def _summary(runs: list[tuple[float, bool]]) -> dict[str, Any]:
    if not runs:
        return {"runs": 0}
    times = np.array([took for took, _ in runs])
    parts = (50, 95)
    quantiles = {f"p{part}_ms": round(1000 * float(np.percentile(times, part))) for part in parts}
    late = sum(not in_time for _, in_time in runs)
    return {"runs": len(runs), **quantiles, "max_ms": round(1000 * times.max()), "late": late}


def _command(name: str, memory: Path) -> None:
    command = [*own_command(), "hook", name, "--memory", str(memory)]
    subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT_S)


if __name__ == "__main__":
    main()
