"""Broad and narrow questions apart: what the tree gains and loses against flat retrieval.

    python -m benchmarks.tree_breadth fairytaleqa DATA RESULT.jsonl [RESULT.jsonl ...]

The results are those of ``treering bench run`` with policies such as ``context``, ``treering``,
``tree-mixed``, ``tree`` and ``tree-collapsed``; those of a run with ``--summaries`` are named after
the model that wrote them. A question is broad if its evidence lies in several places, or, where a
benchmark marks no evidence, if it asks why or how, or for the whole. Differences are paired.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from treering.bench.registry import Benchmark, benchmark
from treering.bench.report import Key, Scores, difference
from treering.bench.results import read
from treering.bench.task import Question

BREADTHS = ("narrow", "broad")

_BROAD = re.compile(
    r"^(why|how(?! (many|much|long|old|often|far|big|tall)\b))\b"
    r"|\b(main|overall|best describes?|describe|theme|mood|tone|purpose|relationship|throughout"
    r"|summar\w+|learn(ed)? from)\b",
    re.IGNORECASE,
)


def breadth(question: Question) -> str:
    """``broad`` or ``narrow``."""
    if question.evidence:
        return BREADTHS[len(question.evidence) > 1]
    return BREADTHS[bool(_BROAD.search(question.text))]


def groups(chosen: Benchmark, data: Path) -> dict[Key, str]:
    """The breadth of every question by task and question."""
    return {(t.space, q.id): breadth(q) for t in chosen.load(data) for q in t.questions}


def columns(scores: Scores, metric: str) -> dict[str, Mapping[Key, float]]:
    """The values of every policy that has the metric, under the name it is shown with."""
    writer = scores.run.settings.get("summaries")
    found: dict[str, Mapping[Key, float]] = {}
    for policy in scores.by_policy:
        values = scores.values(policy, metric)
        if values:
            found[f"{policy} ({writer})" if writer else policy] = values
    return found


def show(
    values: Mapping[str, Mapping[Key, float]], group: Mapping[Key, str], metric: str, reference: str
) -> None:
    """A Markdown table: mean in percent by breadth, and the difference from the reference."""
    flat = values[reference]
    sizes = [sum(group[key] == one for key in flat) for one in BREADTHS]
    heads = [f"{one} (n={size})" for one, size in zip(BREADTHS, sizes, strict=True)]
    print(f"| {metric} | " + " | ".join(f"{head} | against {reference}" for head in heads) + " |")
    print("|---" * 5 + "|")
    for name, by_question in values.items():
        cells = []
        for one in BREADTHS:
            own = {key: value for key, value in by_question.items() if group[key] == one}
            mean = f"{100 * sum(own.values()) / len(own):.1f}" if own else "–"
            gap = difference(own, {key: flat[key] for key in flat if group[key] == one})
            told = gap is not None and name != reference
            cells += [mean, _told(gap.mean, gap.low, gap.high) if gap and told else "–"]
        print(f"| {name} | " + " | ".join(cells) + " |")


def _told(*values: float) -> str:
    mean, low, high = (100 * value for value in values)
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"


def main() -> None:
    """Print a table a metric."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("name")
    parser.add_argument("data", type=Path)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--reference", default="context")
    parser.add_argument("--metric", nargs="*", default=["token_f1"])
    options = parser.parse_args()
    chosen = benchmark(options.name)
    if not isinstance(chosen, Benchmark):
        parser.error(f"{options.name} asks no questions")
    group = groups(chosen, options.data)
    runs: Sequence[Scores] = [Scores.of(*read(path)) for path in options.results]
    for metric in options.metric:
        values = {name: one for run in runs for name, one in columns(run, metric).items()}
        show(values, group, metric, options.reference)


if __name__ == "__main__":
    main()
