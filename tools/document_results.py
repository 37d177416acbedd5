"""Write the tables of figures and experiments into the pages.

Run as ``python -m tools.document_results``. A test compares the result with the committed pages. A
table is between ``<!-- NAME -->`` and ``<!-- /NAME -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

from treering.views.presets import preset_of
from treering_bench.metrics.evidence import BUDGETS
from treering_bench.paper import experiments_table
from treering_bench.perf import report as speed
from treering_bench.perf.timing import OURS
from treering_bench.report import Key, Scores, difference, overview, table, titled
from treering_bench.results import read
from treering_bench.stats import Interval

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"

_POLICIES = ("treering", "fusion", "bm25", "dense")
_ANSWERED = "token_f1"
_CONTEXTS = {
    "treering": "treering",
    "fusion": "BM25 + cosine",
    "bm25": "BM25",
    "dense": "cosine",
    "window": "the newest turns",
    "whole": "the whole chat",
}
_MILLION = {
    "warm context": "a warm search",
    "after-add": "the search after one add",
    "by-source": "a search of one source",
    "first": "the first search of a process",
    "store": "storing a turn, vector given",
    "forget": "forgetting a turn, gone from the bytes of the file",
    "peak": "main memory a turn, at most",
}
_SPEED = (
    ("upkeep", "ingest", 100_000, "adding a turn, embedding included"),
    *(("million", operation, 1_000_000, what) for operation, what in _MILLION.items()),
    ("million", "warm context", 100_000, "a warm search"),
    ("ten-million", "warm context", 10_000_000, "a warm search"),
    ("code", "code", 300_000, "indexing lines of Python"),
)
"""File, operation, size, description. An operation without a measurement gets no row."""
FILLED = 1_000
"""The tokens that a preset without a number of hits fills: 800 words, as FragRel has it."""
_MARKED = re.compile(r"<!-- (?P<name>[a-z-]+) -->\n.*?<!-- /(?P=name) -->", re.DOTALL)


def document(page: str, text: str) -> str:
    """Return the text of a page with every marked table written from the results."""

    def rewrite(found: re.Match[str]) -> str:
        name = found["name"]
        return f"<!-- {name} -->\n{PAGES[page][name]()}<!-- /{name} -->"

    return _MARKED.sub(rewrite, text)


@cache
def scores(folder: str) -> list[Scores]:
    """Return the contents of all results files in a folder."""
    return [Scores.group(*read(file)) for file in sorted((RESULTS / folder).glob("*.jsonl.gz"))]


def _recall_table() -> str:
    shown = overview(scores(""), _POLICIES, _POLICIES[0])
    return shown.replace(" | ".join(_POLICIES[1:]), "BM25 + cosine | BM25 | cosine", 1)


def _answers_table() -> str:
    """Compare answers from treering's context with answers from other contexts."""
    runs = [_answered(name) for name in ("locomo", "locomo-1000", "locomo-whole")]
    rows = []
    for measured in runs:
        ours = _values(measured if "treering" in measured.by_policy else runs[0], _ANSWERED)
        for policy in measured.by_policy:
            answers = measured.values(policy, _ANSWERED)
            gap = difference(answers, ours)
            assert gap is not None  # all runs are of the same questions
            tokens = f"{_mean(measured.values(policy, 'tokens prompt')):,.0f}"
            against = "–" if policy == "treering" else _with_interval(gap)
            rows.append([_CONTEXTS[policy], tokens, f"{100 * _mean(answers):.1f}", against])
    return f"{table(['context', 'tokens of a prompt', 'token F1', 'against treering'], rows)}\n"


def _answered(name: str) -> Scores:
    return Scores.group(*read(RESULTS / "answers" / f"{name}.jsonl.gz"))


def _with_interval(gap: Interval) -> str:
    """Return a difference in percentage points with its 95 % interval."""
    return f"{100 * gap.mean:+.1f} [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]"


def _speed_table() -> str:
    timings = {path.stem: speed.read(path).by_key for path in (RESULTS / "perf").glob("*.jsonl")}
    rows = []
    for file, operation, n, what in _SPEED:
        if ours := timings.get(file, {}).get((operation, n, OURS)):
            limit = speed.limits([operation]).partition(": ")[2]
            size = f"{n:,} {'lines' if operation == 'code' else 'turns'}"
            rows.append([what, size, speed.value(ours), f"{speed.ratio(ours)} × {limit}"])
    return f"{table(['operation', 'size', 'takes', 'against'], rows)}\n"


def _presets_table() -> str:
    """Compare the evidence that presets show with that of the default search."""
    as_it_comes = {measured.run.benchmark: measured for measured in scores("sweeps")}
    rows = []
    for measured in scores("presets"):
        preset = measured.run.settings["preset"]
        plain = titled(as_it_comes[measured.run.benchmark])
        for (title, by_preset), (_, ours) in zip(titled(measured), plain, strict=True):
            spent, hits = _mean(_values(by_preset, "tokens@all")), "all"
            if "k" not in preset_of(preset).choices:
                spent, hits = FILLED, f"{FILLED}tokens"
            found = _values(by_preset, f"recall@{hits}")
            gap = difference(found, _values(ours, "recall@10"))
            assert gap is not None  # both are of the same questions
            shown = _with_interval(gap)
            room = next((budget for budget in BUDGETS if budget >= spent), BUDGETS[-1])
            within = f"{_both(ours, f'{room}tokens')} ({room:,})"
            cells = [_both(by_preset, hits), f"{spent:,.0f}", _both(ours, "10"), shown, within]
            rows.append([title, str(len(found)), f"`{preset}`", *cells])
    head = ["benchmark", "questions", "preset", "finds / all", "in tokens", "ten hits of search"]
    return f"{table([*head, 'difference (95 %)', 'search within tokens'], rows)}\n"


def _both(measured: Scores, k: str) -> str:
    """Return recall in ``k`` hits or tokens, and the share of questions with all evidence."""
    means = (_mean(_values(measured, f"{name}@{k}")) for name in ("recall", "all"))
    return " / ".join(f"{100 * mean:.1f}" for mean in means)


def _values(measured: Scores, metric: str) -> Mapping[Key, float]:
    return measured.values("treering", metric)


def _mean(values: Mapping[Key, float]) -> float:
    return sum(values.values()) / len(values)


PAGES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "docs/figures.md": {
        "recall": _recall_table,
        "answers": _answers_table,
        "speed": _speed_table,
    },
    "docs/explanation/papers.md": {"presets": _presets_table},
    "docs/explanation/experiments.md": {"experiments": experiments_table},
    "benchmarks/README.md": {"gpu": partial(experiments_table, papers=False)},
}
"""The tables of each page, by name."""


def main() -> None:
    """Write all pages."""
    for page in PAGES:
        path = ROOT / page
        path.write_text(document(page, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
