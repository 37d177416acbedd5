"""Broad and narrow questions apart: what the tree gains and loses against flat retrieval.

A question is broad if its evidence lies in several places, or, where a benchmark marks no evidence,
if it asks why or how, or for the whole. Differences are paired.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from treering.errors import InputError
from treering_bench.registry import Benchmark, benchmark
from treering_bench.report import Key, Scores, difference, table
from treering_bench.stats import Interval
from treering_bench.task import TaskQuestion

BREADTHS = ("narrow", "broad")
NO_FIGURE = "–"

_BROAD = re.compile(
    r"^(why|how(?! (many|much|long|old|often|far|big|tall)\b))\b"
    r"|\b(main|overall|best describes?|describe|theme|mood|tone|purpose|relationship|throughout"
    r"|summar\w+|learn(ed)? from)\b",
    re.IGNORECASE,
)


def breadth(question: TaskQuestion) -> str:
    """``broad`` or ``narrow``."""
    if question.evidence:
        return BREADTHS[len(question.evidence) > 1]
    return BREADTHS[bool(_BROAD.search(question.text))]


def breadths(runs: Sequence[Scores], data: Path) -> dict[Key, str]:
    """The breadth of every question by task and question.

    Raises InputError if the runs are of several benchmarks, or of one that asks no questions.
    """
    names = list(dict.fromkeys(scores.run.benchmark for scores in runs))
    if len(names) > 1:
        raise InputError(f"the results are of {' and '.join(names)}; give those of one benchmark")
    chosen = benchmark(names[0])
    if not isinstance(chosen, Benchmark):
        raise InputError(f"{names[0]} asks no questions; give results of a benchmark that does")
    return {(t.space, q.id): breadth(q) for t in chosen.load(data) for q in t.questions}


def by_policy(runs: Iterable[Scores], metric: str) -> dict[str, Mapping[Key, float]]:
    """The values of every policy that has the metric.

    Those of a run with written summaries are named after the model that wrote them. Raises
    InputError if no policy has it.
    """
    columns: dict[str, Mapping[Key, float]] = {}
    for scores in runs:
        writer = scores.run.settings.get("summaries")
        for policy in scores.by_policy:
            if values := scores.values(policy, metric):
                columns[f"{policy} ({writer})" if writer else policy] = values
    if not columns:
        there = dict.fromkeys(metric for scores in runs for metric in scores.metrics)
        raise InputError(f"no policy has the metric {metric!r}; there are {', '.join(there)}")
    return columns


def breadth_table(
    values: Mapping[str, Mapping[Key, float]],
    breadth_of: Mapping[Key, str],
    metric: str,
    reference: str,
) -> str:
    """A Markdown table: mean in percent by breadth, and the difference from the reference."""
    if reference not in values:
        raise InputError(f"no policy {reference!r} has {metric}; there are {', '.join(values)}")
    flat = values[reference]
    missing = next((key for key in flat if key not in breadth_of), None)
    if missing:
        raise InputError(f"the data hold no question {missing[1]!r} of {missing[0]!r}")
    sizes = {group: sum(breadth_of[key] == group for key in flat) for group in BREADTHS}
    head = [metric]
    for group, size in sizes.items():
        head += [f"{group} (n={size})", f"against {reference}"]
    rows = [
        [name, *_cells(by_question, flat, breadth_of, name == reference)]
        for name, by_question in values.items()
    ]
    return table(head, rows)


def _cells(
    by_question: Mapping[Key, float],
    flat: Mapping[Key, float],
    breadth_of: Mapping[Key, str],
    is_reference: bool,
) -> list[str]:
    cells = []
    for group in BREADTHS:
        own = {key: value for key, value in by_question.items() if breadth_of[key] == group}
        mean = f"{100 * sum(own.values()) / len(own):.1f}" if own else NO_FIGURE
        gap = difference(own, {key: flat[key] for key in flat if breadth_of[key] == group})
        cells += [mean, NO_FIGURE if gap is None or is_reference else _signed(gap)]
    return cells


def _signed(gap: Interval) -> str:
    mean, low, high = (100 * value for value in (gap.mean, gap.low, gap.high))
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"
