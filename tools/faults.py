"""The fault suite: ``make faults``. Tries to lose, leak and break, and prints the figures.

Every test of ``tests/faults`` and those of bounds and broken models; the random ones go on for many
rounds. ``$TREERING_FAULT_ROUNDS`` says how many times as many as in an ordinary run, and
``$TREERING_FAULT_SEED`` repeats a run. Exit code 1 if anything was lost, leaked or broken.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

SECONDS = 1_200
ROUNDS = 12
"""Of these a run takes about a quarter of an hour on two processors."""
REQUESTS = 24
"""Of these each operation of the server is sent so many that were made at random."""

RANDOM = (
    *("tests/faults/test_power.py", "tests/faults/test_tenants.py", "tests/faults/test_kill.py"),
)
FIXED = (
    *("tests/faults", "tests/serve/test_connections.py", "tests/serve/test_access.py"),
    *("tests/serve/test_limits.py", "tests/llm/test_openai_compatible.py"),
    *("tests/llm/test_injection.py", "tests/code/test_slow_sources.py"),
    *("tests/code/test_git_settings.py", "tests/bench/undone/test_sandbox.py"),
    *("tests/documents/test_documents.py", "tests/serve/test_schema.py"),
)


def main() -> int:
    """Run all within the time there is."""
    environment = dict(os.environ)
    environment.setdefault("TREERING_FAULT_ROUNDS", str(ROUNDS))
    environment.setdefault("TREERING_FUZZ", str(REQUESTS))
    seed = environment.setdefault("TREERING_FAULT_SEED", str(random.randrange(10**6)))
    print(f"seed {seed}; repeat with TREERING_FAULT_SEED={seed} make faults", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.jsonl"
        figures.touch()
        environment["TREERING_FAULT_FIGURES"] = str(figures)
        ignored = [f"--ignore={file}" for file in RANDOM]
        failed = _run(RANDOM, environment, began) | _run([*FIXED, *ignored], environment, began)
        lines = figures.read_text(encoding="utf-8").splitlines()
    print(table([json.loads(line) for line in lines]))
    print(f"{time.monotonic() - began:.0f} s, seed {seed}: {'FAILED' if failed else 'clean'}")
    return int(failed)


def _run(tests: tuple[str, ...] | list[str], environment: dict[str, str], began: float) -> bool:
    """Whether these tests fail, or do not end in time."""
    left = SECONDS - (time.monotonic() - began)
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run([*command, *tests], env=environment, timeout=left, check=False)
    except subprocess.TimeoutExpired:
        print(f"not done after {SECONDS} s: fewer rounds, by TREERING_FAULT_ROUNDS")
        return True
    return done.returncode != 0


def table(figures: list[dict[str, str | int]]) -> str:
    """The figures as a table, those of one name added up."""
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in figures:
        what = str(row.pop("what"))
        sums[what].update({name: int(count) for name, count in row.items()})
    rows = []
    for what, counts in sums.items():
        told = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items()]
        rows.append(f"| {what} | {', '.join(told)} |")
    return "\n".join(["| what | figures |", "|---|---|", *rows])


if __name__ == "__main__":
    sys.exit(main())
