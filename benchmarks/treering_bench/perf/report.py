"""Saved timings: a table of ratios, and slowdowns since another run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from treering.errors import InputError
from treering_bench.perf.run import LIMITS, Done, done_as
from treering_bench.perf.timing import OURS, WORST, Timing, Unit
from treering_bench.read import json_lines
from treering_bench.report import table as markdown_table
from treering_bench.results import RunHeader

BENCHMARK = "perf"
TOLERANCE = 1.5
"""A ratio may grow by so much before it counts as slower: those of two runs on a shared machine
differ by a third now and then."""
_DECIMALS = 4
_SMALL = 0.1  # a ratio below it would be all zeros
_UNITS: Mapping[Unit, Sequence[tuple[str, float]]] = {
    "s": (("s", 1.0), ("ms", 1e3), ("µs", 1e6)),
    "B": (("GB", 1e-9), ("MB", 1e-6), ("kB", 1e-3), ("B", 1.0)),
}

Key = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class Timings:
    """A run and its timings."""

    run: RunHeader
    timed: tuple[Timing, ...]

    @property
    def by_key(self) -> Mapping[Key, Timing]:
        """The timings by operation, size and system."""
        return {timing.key: timing for timing in self.timed}

    @property
    def done(self) -> frozenset[Done]:
        """The operations and the sizes they are timed at."""
        return frozenset(done_as(timing.operation, timing.n) for timing in self.timed)

    @property
    def operations(self) -> list[str]:
        """The operations in the order in which they were timed."""
        return list(dict.fromkeys(timing.operation for timing in self.timed))

    def of(self, operation: str, system: str) -> list[Timing]:
        """An operation's timings with a system, by size."""
        matching = (o for o in self.timed if (o.operation, o.system) == (operation, system))
        return sorted(matching, key=lambda timing: timing.n)


@dataclass(frozen=True, slots=True)
class Slowdown:
    """An operation whose ratio to its limit grew beyond the tolerance."""

    operation: str
    n: int
    before: float
    now: float

    def __str__(self) -> str:
        then = f"was {self.before:.2f}"
        return f"{self.operation} at {self.n:,}: {self.now:.2f} times its limit, {then}"


def write(path: Path, timings: Timings) -> None:
    """Save as JSON lines: the header, then a line a timing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"kind": "run", **asdict(timings.run)}]
    rows += [{"kind": "timed", **asdict(timing)} for timing in timings.timed]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def read(path: Path) -> Timings:
    """The timings that :func:`write` saved. Raises InputError."""
    rows = list(json_lines(path))
    kinds = [row.pop("kind", None) for row in rows]
    if kinds[:1] != ["run"] or set(kinds[1:]) > {"timed"}:
        raise InputError(f"{path} holds no timings; `treering-bench perf --out` writes them")
    try:
        return Timings(RunHeader(**rows[0]), tuple(Timing(**row) for row in rows[1:]))
    except TypeError as error:
        raise InputError(f"{path} holds no timings of this version: {error}") from error


def goes_on(path: Path, run: RunHeader) -> Timings:
    """The saved timings that a run continues. Raises InputError if they belong to another run."""
    if not path.exists():
        return Timings(run, ())
    saved = read(path)
    differing = [key for key, value in run.identity.items() if saved.run.identity[key] != value]
    if differing:
        raise InputError(
            f"{path} holds timings with another {' and '.join(differing)}; give another --out, or "
            "remove the file"
        )
    return saved


def better(first: Timings, second: Timings) -> Timings:
    """The timings of the first run, but those of the second where treering's ratio is lower there.

    What differs between the two is what else the machine did meanwhile.
    """
    before, again = first.by_key, second.by_key

    def is_lower(operation: str, n: int) -> bool:
        key = operation, n, OURS
        return key in again and again[key].ratio < before[key].ratio

    chosen = (again.get(o.key, o) if is_lower(o.operation, o.n) else o for o in first.timed)
    return Timings(first.run, tuple(chosen))


def usual(path: Path) -> Timings:
    """The timings of a file; of a folder, the median over its files.

    One run on a machine with other work has a figure or two that are far off. Raises InputError.
    """
    runs = [read(file) for file in sorted(path.glob("*.jsonl"))] if path.is_dir() else [read(path)]
    if not runs:
        raise InputError(f"{path} holds no timings; `treering-bench perf --out` writes them")
    by_key: dict[Key, list[Timing]] = {}
    for timing in (timing for run in runs for timing in run.timed):
        by_key.setdefault(timing.key, []).append(timing)
    return Timings(runs[0].run, tuple(map(_median, by_key.values())))


def _median(repeated: Sequence[Timing]) -> Timing:
    value, ratio = (
        median(getattr(timing, name) for timing in repeated) for name in ("value", "ratio")
    )
    return replace(repeated[0], value=value, ratio=ratio)


def table(timings: Timings) -> str:
    """A Markdown table: the time of each operation at each size, and how many limits that is."""
    rows = [
        [operation, f"{ours.n:,}", value(ours), ratio(ours)]
        for operation in timings.operations
        for ours in timings.of(operation, OURS)
    ]
    return markdown_table(["operation", "n", "treering", "× limit"], rows)


def limits(operations: Iterable[str]) -> str:
    """The limits, as a line below a table."""
    first = dict.fromkeys(operation.split()[0] for operation in operations)
    return "; ".join(f"{name}: {LIMITS[name]}" for name in first)


def slower(new: Timings, old: Timings, tolerance: float = TOLERANCE) -> list[Slowdown]:
    """The operations of treering whose ratio to the limit grew by more than ``tolerance``.

    Seconds are not compared: two runs may have had different machines. Neither is the worst of many
    rounds: one moment of other work on the machine decides it.
    """
    before = old.by_key
    return [
        Slowdown(timing.operation, timing.n, before[timing.key].ratio, timing.ratio)
        for timing in new.timed
        if timing.system == OURS
        and not timing.operation.endswith(WORST)
        and timing.key in before
        and timing.ratio > tolerance * before[timing.key].ratio
    ]


def summary(timings: Timings, slowed: Sequence[Slowdown]) -> dict[str, Any]:
    """One JSON object: ratios to the limit by operation, size and system, and slowdowns."""
    ratios: dict[str, dict[str, dict[str, float]]] = {}
    for timing in timings.timed:
        by_size = ratios.setdefault(timing.operation, {})
        by_size.setdefault(str(timing.n), {})[timing.system] = round(timing.ratio, _DECIMALS)
    figures = {"benchmark": BENCHMARK, "commit": timings.run.commit, "ratios": ratios}
    return figures | {"slower": [asdict(slowdown) for slowdown in slowed]}


def ratio(timed: Timing) -> str:
    """How many times the limit, as tables show it."""
    return f"{timed.ratio:.2f}" if timed.ratio >= _SMALL else f"{timed.ratio:.1g}"


def value(timed: Timing) -> str:
    """The operation's time or bytes, in a unit that suits it."""
    for unit, factor in _UNITS[timed.unit]:
        if timed.value * factor >= 1:
            return f"{timed.value * factor:.3g} {unit}"
    smallest, factor = _UNITS[timed.unit][-1]
    return f"{timed.value * factor:.3g} {smallest}"
