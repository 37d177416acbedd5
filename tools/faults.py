"""Run the fault suite, which tries to lose, leak and break data, and print its figures.

``make faults`` runs the tests of ``tests/faults``, of limits and of broken models. Random tests run
``$TREERING_FAULT_ROUNDS`` times as many rounds as in an ordinary run. ``$TREERING_FAULT_SEED``
repeats a run. The exit code is 1 if anything was lost, leaked or broken.

``--keep`` (``make faults KEEP=1``) appends the run to ``benchmarks/faults.jsonl`` and writes the
last ones into ``docs/explanation/reliability.md``. ``--page`` only writes the page.
"""

from __future__ import annotations

import json
import os
import platform
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "benchmarks" / "faults.jsonl"
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
BLOCK = ("<!-- faults -->", "<!-- /faults -->")

SECONDS = 1_200
ROUNDS = 12
"""A run of so many takes about a quarter of an hour on two processors."""
REQUESTS = 24
"""Random requests for each operation of the server."""

RANDOM = (
    *("tests/faults/test_power.py", "tests/faults/test_tenants.py", "tests/faults/test_kill.py"),
    "tests/faults/test_histories.py",
)
FIXED = (
    *("tests/faults", "tests/serve/test_connections.py", "tests/serve/test_access.py"),
    *("tests/serve/test_limits.py", "tests/serve/test_fairness.py", "tests/serve/test_proxy.py"),
    *("tests/llm/test_openai_compatible.py", "tests/llm/test_injection.py", "tests/chat"),
    *("tests/journal/test_sqlite_faults.py", "tests/memory/test_scrubbing.py"),
    *("tests/documents/test_hostile_documents.py", "tests/ingest/test_hostile_exports.py"),
    *("tests/code/test_slow_sources.py", "tests/code/test_git_settings.py"),
    *("tests/serve/test_code_roots.py", "tests/agents/test_hook.py"),
    *("tests/memory/test_tombstones.py", "tests/memory/test_exchange.py"),
    *("tests/journal/test_postgres_words.py", "tests/journal/test_schema.py"),
    *("tests/ingest/test_large_imports.py", "tests/ingest/test_folder.py"),
    *("tests/ingest/test_secrets.py", "tests/ingest/test_transcripts.py"),
    *("tests/agents/test_project.py", "tests/views/test_releases.py"),
    *("tests/cli/test_process.py", "tests/test_temporary.py"),
    *("tests/documents/test_documents.py", "tests/serve/test_schema.py"),
    *("tests/serve/test_roles.py", "tests/serve/test_sign_in.py"),
)


@dataclass(frozen=True, slots=True)
class FaultRun:
    """One stored run of the suite."""

    date: str
    seconds: int
    seed: int
    rounds: int
    clean: bool
    tests: int
    machine: str
    figures: Mapping[str, Mapping[str, int]]


def main(arguments: Sequence[str]) -> int:
    """Run the suite, store it and write the page, as the arguments ask."""
    if "--page" not in arguments:
        run = run_all()
        print(table(run.figures))
        print(f"{run.seconds} s, seed {run.seed}: {'clean' if run.clean else 'FAILED'}")
        if "--keep" in arguments:
            with RUNS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(run)) + "\n")
    if "--page" in arguments or "--keep" in arguments:
        PAGE.write_text(document(PAGE.read_text("utf-8")), "utf-8")
    return 0 if "--page" in arguments else int(not run.clean)


def run_all() -> FaultRun:
    """Run the random tests for their rounds, then the others."""
    environment = dict(os.environ)
    rounds = environment.setdefault("TREERING_FAULT_ROUNDS", str(ROUNDS))
    environment.setdefault("TREERING_FUZZ", str(REQUESTS))
    seed = environment.setdefault("TREERING_FAULT_SEED", str(random.randrange(10**6)))
    print(f"seed {seed}; repeat with TREERING_FAULT_SEED={seed} make faults", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        figures, passed = Path(folder) / "figures.jsonl", Path(folder) / "passed.jsonl"
        figures.touch()
        passed.touch()
        environment["TREERING_FAULT_FIGURES"] = str(figures)
        environment["TREERING_FAULT_PASSED"] = str(passed)
        ignored = [f"--ignore={file}" for file in RANDOM]
        is_clean = True
        for tests in (RANDOM, (*FIXED, *ignored)):
            left = SECONDS - (time.monotonic() - began)
            is_clean = is_passed(tests, environment, left) and is_clean
        noted = [json.loads(line) for line in figures.read_text("utf-8").splitlines()]
        count = len(passed.read_text("utf-8").splitlines())
    return FaultRun(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        seconds=round(time.monotonic() - began),
        seed=int(seed),
        rounds=int(rounds),
        clean=is_clean,
        tests=count,
        machine=f"{platform.system()}, {os.cpu_count()} processors, Python "
        f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}",
        figures=sums(noted),
    )


def is_passed(tests: Sequence[str], environment: Mapping[str, str], seconds: float) -> bool:
    """Return whether the tests pass in time; end every process that they started."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    with subprocess.Popen(
        [*command, "-p", "tests.faults.passed", *tests],
        env=environment,
        cwd=ROOT,
        start_new_session=True,
    ) as process:
        try:
            return process.wait(max(seconds, 0)) == 0
        except subprocess.TimeoutExpired:
            print(f"not done after {SECONDS} s: fewer rounds, by TREERING_FAULT_ROUNDS")
            return False
        finally:
            with suppress(ProcessLookupError):  # also servers and writers of tests
                os.killpg(process.pid, signal.SIGKILL)


def sums(figures: Sequence[Mapping[str, str | int]]) -> dict[str, dict[str, int]]:
    """Add up figures of the same name."""
    added: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in figures:
        counts = {name: int(count) for name, count in row.items() if name != "what"}
        added[str(row["what"])].update(counts)
    return {what: dict(counts) for what, counts in added.items()}


def table(figures: Mapping[str, Mapping[str, int]]) -> str:
    """Return the figures as a table."""
    rows = []
    for what, counts in figures.items():
        columns = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items()]
        rows.append(f"| {what} | {', '.join(columns)} |")
    return "\n".join(["| what | figures |", "|---|---|", *rows])


def document(page: str) -> str:
    """Return the page with the report of the stored runs."""
    start, end = BLOCK
    before, _, rest = page.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}\n{report(kept_runs())}\n{end}{after}"


def kept_runs() -> list[FaultRun]:
    """Return all stored runs, the oldest first."""
    return [FaultRun(**json.loads(line)) for line in RUNS.read_text("utf-8").splitlines()]


def report(runs: Sequence[FaultRun]) -> str:
    """Describe the last run, and the outcomes of earlier ones."""
    if not runs:
        return "No run has been kept yet."
    last = runs[-1]
    outcome = "nothing was lost, leaked, brought back or given out wrong"
    if not last.clean:
        outcome = "**it failed**"
    head = (
        f"{last.date}, seed {last.seed}, {last.seconds} s, {last.tests} tests passed "
        f"({last.machine}): {outcome}."
    )
    lines = [head, "", table(last.figures)]
    if runs[:-1]:
        earlier = (
            f"{run.date} with seed {run.seed}: {'clean' if run.clean else 'failed'}"
            for run in reversed(runs[-6:-1])
        )
        lines += ["", f"Before it: {'; '.join(earlier)}."]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
