"""How well searches find the evidence of every data set, against committed ranks.

Of each question the rank of each piece of evidence is stored. All figures come from these, so that
two versions can be compared question by question.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from treering.embed.contract import Embedder
from treering.errors import InputError
from treering_bench.metrics.evidence import ranked_units
from treering_bench.questions import remembered
from treering_bench.read import json_lines, read_as
from treering_bench.registry import with_texts
from treering_bench.runner import chosen
from treering_bench.space import TaskSpace
from treering_bench.stats import Interval, paired_difference
from treering_bench.task import Task, TaskQuestion

FOLDERS: Final[Mapping[str, str]] = {
    "locomo": "locomo",
    "lihua-world": "lihua_world",
    "beam": "beam",
    "multihop-rag": "multihop_rag",
    "twowiki": "twowiki",
    "fairytaleqa": "fairytaleqa",
    "mtbench-plus": "mtbench_plus",
    "realmem": "realmem",
    "xquad": "xquad",
}
"""The data sets with evidence, and the folder of each."""

SAMPLED: Final = {"xquad": 2_100}
"""Of 8,330 questions in seven languages: so many tell a change of half a point."""

RANKS_FILE: Final = "ranks.jsonl"
REASONS_FILE: Final = "reasons.toml"

Ranks = Sequence[int]
"""The rank of each piece of evidence of a question, ascending; 0 for one that was not found."""

QuestionKey = tuple[str, str]
"""A task and the id of a question in it."""

SetRanks = Mapping[QuestionKey, Ranks]
Progress = Callable[[int, int, str], None]


def recall(ranks: Ranks, k: int) -> float:
    """The share of the evidence among the ``k`` best units."""
    return sum(0 < rank <= k for rank in ranks) / len(ranks)


def reciprocal_rank(ranks: Ranks) -> float:
    """One over the rank of the first evidence, 0 if none was found."""
    return max((1 / rank for rank in ranks if rank), default=0.0)


METRICS: Final[Mapping[str, Callable[[Ranks], float]]] = {
    "recall@3": lambda ranks: recall(ranks, 3),
    "recall@10": lambda ranks: recall(ranks, 10),
    "all@10": lambda ranks: float(recall(ranks, 10) == 1),
    "MRR": reciprocal_rank,
}


def measure(name: str, data: Path, embedder: Embedder, progress: Progress) -> SetRanks:
    """The ranks of the evidence of all questions of a data set."""
    suite, path = with_texts(name), data / FOLDERS[name]
    tasks: dict[str, Task] = {}

    def asked() -> Iterator[tuple[str, Sequence[TaskQuestion]]]:
        for task in read_as(name, path, suite.load(path)):
            tasks[task.space] = task
            yield task.space, [question for question in task.questions if question.evidence]

    ranks: dict[QuestionKey, Ranks] = {}
    for task, questions in chosen(asked, limit=None, sample=SAMPLED.get(name), seed=0):
        with remembered(tasks.pop(task), embedder) as space:
            for done, question in enumerate(questions):
                progress(done, len(questions), f"{name} {task}")
                space.remember(question.before)
                ranks[task, question.id] = _ranks(space, question)
    return ranks


def _ranks(space: TaskSpace, question: TaskQuestion) -> Ranks:
    """The ranks for a question, asked at its time or else at that of the newest piece.

    "Last week" would else mean another week whenever this runs.
    """
    pieces = (piece for document in space.task.documents for piece in document.pieces)
    now = question.at or (space.now if all(piece.at for piece in pieces) else None)
    passages = space.search(question, **({"as_of": now} if now else {}))
    place = {unit: rank for rank, unit in enumerate(ranked_units(passages), start=1)}
    return sorted(place.get(unit, 0) for unit in question.evidence)


@dataclass(frozen=True, slots=True)
class SetQuality:
    """The figures of a data set, and how they differ from the committed ones."""

    name: str
    questions: int
    means: Mapping[str, float]
    differences: Mapping[str, Interval]
    reason: str = ""

    @property
    def worse(self) -> list[str]:
        """The metrics whose difference has an interval below zero."""
        return [name for name, change in self.differences.items() if change.verdict == "worse"]

    @property
    def fails(self) -> bool:
        """Whether it is worse and no reason is written down."""
        return bool(self.worse) and not self.reason


def compared(name: str, now: SetRanks, before: SetRanks, reason: str) -> SetQuality:
    """The figures of a data set against those of the same questions before."""
    shared = [key for key in now if key in before]
    differences = {
        metric: paired_difference(
            [value(now[key]) for key in shared], [value(before[key]) for key in shared]
        )
        for metric, value in METRICS.items()
        if shared
    }
    means = {metric: fmean(map(value, now.values())) for metric, value in METRICS.items()}
    return SetQuality(name, len(now), means, differences, reason)


def table(sets: Sequence[SetQuality]) -> str:
    """One Markdown table: figures in percent, and their changes with intervals if there are any."""
    lines = [
        f"| data set | questions | {' | '.join(METRICS)} | verdict |",
        f"|---|---|{'---|' * len(METRICS)}---|",
    ]
    for row in sets:
        cells = [_cell(100 * row.means[name], row.differences.get(name)) for name in METRICS]
        lines.append(f"| {row.name} | {row.questions} | {' | '.join(cells)} | {_verdict(row)} |")
    return "\n".join(lines)


def _cell(percent: float, change: Interval | None) -> str:
    if change is None or change.low == change.high == 0:
        return f"{percent:.1f}"
    mean, low, high = (100 * value for value in (change.mean, change.low, change.high))
    return f"{percent:.1f} ({mean:+.1f}: {low:+.1f} to {high:+.1f})"


def _verdict(row: SetQuality) -> str:
    if not row.differences:
        return "new"
    if row.worse:
        return f"worse: {row.reason or 'no reason is given'}"
    better = any(change.verdict == "better" for change in row.differences.values())
    return "better" if better else "no difference"


def read_ranks(folder: Path) -> dict[str, dict[QuestionKey, Ranks]]:
    """The committed ranks by data set; none where nothing is committed."""
    sets: dict[str, dict[QuestionKey, Ranks]] = {}
    if (folder / RANKS_FILE).exists():
        for row in json_lines(folder / RANKS_FILE):
            ranks = {(row["task"], question): found for question, found in row["ranks"].items()}
            sets.setdefault(row["set"], {}).update(ranks)
    return sets


def write_ranks(folder: Path, sets: Mapping[str, SetRanks], commit: str) -> None:
    """Replace the ranks of data sets in the file by those of ``commit``; JSON lines, one a task."""
    path = folder / RANKS_FILE
    rows: list[dict[str, Any]] = []
    if path.exists():
        rows = [row for row in json_lines(path) if row["set"] not in sets]
    for name, ranks in sets.items():
        by_task: dict[str, dict[str, Ranks]] = {}
        for (task, question), found in ranks.items():
            by_task.setdefault(task, {})[question] = found
        for task, found_in_task in by_task.items():
            rows.append({"set": name, "task": task, "commit": commit, "ranks": found_in_task})
    lines = (json.dumps(row, separators=(",", ":")) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_reasons(folder: Path) -> dict[str, str]:
    """Why a data set may be worse than the committed ranks, by its name. Raise InputError for a
    name that is not one of the data sets.
    """
    path = folder / REASONS_FILE
    reasons: dict[str, str] = {}
    if path.exists():
        reasons = tomllib.loads(path.read_text(encoding="utf-8"))
    if unknown := sorted(reasons.keys() - FOLDERS):
        raise InputError(f"{path}: no data set {unknown[0]!r}; there are {', '.join(FOLDERS)}")
    return reasons
