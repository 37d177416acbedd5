"""Add up the last lines of several pytest runs: ``python -m tools.total_tests OUTPUT``."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

SUMMARY = re.compile(r"^=+ (.*\d+ passed.*) in (\d+\.\d+)s.* =+$", re.MULTILINE)
COUNT = re.compile(r"(\d+) (\w+)")


def total(output: str) -> str:
    """One line as pytest prints it, over all runs in ``output``."""
    counts: Counter[str] = Counter()
    seconds = 0.0
    for run, took in SUMMARY.findall(output):
        counts.update({outcome: int(number) for number, outcome in COUNT.findall(run)})
        seconds += float(took)
    return f"{', '.join(f'{n} {outcome}' for outcome, n in counts.items())} in {seconds:.2f}s"


if __name__ == "__main__":
    print(total(Path(sys.argv[1]).read_text("utf-8")))
