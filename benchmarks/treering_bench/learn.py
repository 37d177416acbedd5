"""Learn the weights of chats between people from questions with evidence.

Each term of a score is a feature of a fragment. A listwise softmax over the fragments of a memory
is fitted so that the evidence of a question gets most of the probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from treering.embed.contract import Embedder
from treering.journal import entries
from treering.llm.settings import NONE
from treering.memory import Memory
from treering.records import Filter
from treering.search.filters import RowFilter
from treering.search.people import LEXICAL_AMONG_PEOPLE
from treering.search.ranking import Ranking
from treering.search.relations.decay import ContextRelation
from treering.search.relations.plan import Plan, Weighted
from treering.search.signals.question import NamedSpeaker, When
from treering.search.signals.sources import ReplyTo
from treering_bench.quality import FOLDERS, METRICS
from treering_bench.read import read_as, sha256_of
from treering_bench.registry import with_texts
from treering_bench.space import UNIT, TaskSpace
from treering_bench.task import Task, TaskQuestion

PLAN: Final[Plan] = {
    "chat": [
        Weighted(ContextRelation(w=0.6, within="session"), 1.0, 1.0),
        Weighted(NamedSpeaker(), 1.0, 1.0),
        Weighted(When(), 1.0, 1.0),
        Weighted(ReplyTo(), 1.0, 1.0),
    ]
}
"""The relations that are learned, each with a weight of 1."""

FEATURES: Final = ("lexical", "dense", "context", "named", "reply", "when")
PENALTY: Final = 1e-3
"""Of the squares of weights: a term that one question needs must not outweigh all others."""

Features = NDArray[np.float64]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class RankedQuestion:
    """A question: the features of N fragments, (N, F), their units, and its evidence."""

    task: str
    features: Features
    units: NDArray[np.str_]
    evidence: tuple[str, ...]
    answerable: bool

    def ranks(self, weights: Features) -> list[int]:
        """The rank of each piece of evidence among the units, 0 for one that is not there."""
        order = np.argsort(-(self.features @ weights), kind="stable")
        names, firsts = np.unique(self.units[order], return_index=True)
        place = dict(
            zip(names.tolist(), (np.argsort(np.argsort(firsts)) + 1).tolist(), strict=True)
        )
        return sorted(place.get(unit, 0) for unit in self.evidence)


def questions(
    name: str, data: Path, embedder: Embedder, progress: Progress
) -> list[RankedQuestion]:
    """The questions of a data set, with the terms of every fragment's score for each."""
    suite = with_texts(name)
    path = data / FOLDERS[name]
    ranked: list[RankedQuestion] = []
    for task in read_as(name, path, suite.load(path)):
        with (
            TemporaryDirectory(prefix="treering-learn-") as folder,
            Memory.open(Path(folder) / "life.db", embedder=embedder, llm=NONE) as memory,
            closing(TaskSpace(memory, task, embedder)) as space,
        ):
            space.remember()
            asked = [question for question in task.questions if question.evidence]
            for done, question in enumerate(asked):
                progress(done, len(asked), f"{name} {task.space}")
                ranked.append(_ranked(memory, space, task, question))
    return ranked


def _ranked(memory: Memory, space: TaskSpace, task: Task, question: TaskQuestion) -> RankedQuestion:
    views = memory._views
    views.catch_up()
    searcher, queries = views.searcher, [question.text]
    _, vectors = searcher._embedded(queries, "hybrid", PLAN)
    with searcher._corpus.reading() as (reader, snapshot):
        assert snapshot is not None
        allowed = RowFilter.of(reader, snapshot, Filter())
        ranking = searcher._rank(
            *(reader, snapshot, queries, vectors, "hybrid", PLAN, "messages", allowed),
            question.at or space.now,
        )
        assert isinstance(ranking, Ranking)
        terms = [ranking.why(row, 0).terms for row in range(len(snapshot))]
        seqs = snapshot.entry.tolist()
        entry_by_seq = entries.there(reader, seqs)
    return RankedQuestion(
        task.space,
        np.array([[of_row.get(name, 0.0) for name in FEATURES] for of_row in terms]) / _units(),
        np.array([entry_by_seq[seq].metadata[UNIT] for seq in seqs]),
        tuple(sorted(question.evidence)),
        question.answerable,
    )


def _units() -> Features:
    """What each term is multiplied by before it is learned."""
    unit = {"lexical": float(LEXICAL_AMONG_PEOPLE)}
    return np.array([unit.get(name, 1.0) for name in FEATURES])


def fit(sets: Sequence[Sequence[RankedQuestion]]) -> Features:
    """The weights of ``FEATURES`` as multiples of the cosine's. Every data set counts the same."""
    share = [1 / len(rows) for rows in sets for _ in rows]
    rows = [row for rows in sets for row in rows]

    def loss(weights: Features) -> tuple[float, Features]:
        total, slope = 0.0, np.zeros(len(weights))
        for row, counts in zip(rows, share, strict=True):
            scores = row.features @ weights
            chance = np.exp(scores - scores.max())
            chance /= chance.sum()
            mean = chance @ row.features
            for unit in row.evidence:
                of_unit = chance * (row.units == unit)
                found = of_unit.sum()
                if found > 0:
                    total -= counts * float(np.log(found)) / len(row.evidence)
                    slope -= counts * (of_unit @ row.features / found - mean) / len(row.evidence)
        total, slope = total / len(sets), slope / len(sets)
        return total + PENALTY * float(weights @ weights) / 2, slope + PENALTY * weights

    start = np.full(len(FEATURES), 0.3)
    weights: Features = minimize(loss, start, jac=True, method="L-BFGS-B").x
    relative: Features = weights / weights[FEATURES.index("dense")]
    return relative


def left_out(
    rows: Sequence[RankedQuestion], others: Sequence[Sequence[RankedQuestion]]
) -> dict[str, dict[str, float]]:
    """What weights find in each task of a data set that were learned without that task."""
    ranks: dict[bool, list[list[int]]] = {True: [], False: []}
    for task in dict.fromkeys(row.task for row in rows):
        weights = fit([[row for row in rows if row.task != task], *others])
        for row in rows:
            if row.task == task:
                ranks[row.answerable].append(row.ranks(weights))
    names = {True: "answerable", False: "not answerable"}
    return {names[kind]: _means(found) for kind, found in ranks.items() if found}


def found(rows: Iterable[RankedQuestion], weights: Features) -> dict[str, float]:
    """What weights find in a data set."""
    return _means([row.ranks(weights) for row in rows])


def _means(ranks: Sequence[Sequence[int]]) -> dict[str, float]:
    means = {name: 100 * sum(map(metric, ranks)) / len(ranks) for name, metric in METRICS.items()}
    return {name: round(value, 1) for name, value in means.items()} | {"questions": len(ranks)}


def report(data: Path, sets: Mapping[str, Sequence[RankedQuestion]]) -> dict[str, Any]:
    """Weights, what they find, and what they find where they were not learned."""
    weights = fit(list(sets.values()))
    several = {name: rows for name, rows in sets.items() if len({row.task for row in rows}) > 1}
    return {
        "weights": {name: round(float(w), 3) for name, w in zip(FEATURES, weights, strict=True)},
        "learned_on": {name: sha256_of(data / FOLDERS[name]) for name in sets},
        "found": {name: found(rows, weights) for name, rows in sets.items()},
        "left_out": {
            name: left_out(rows, [other for key, other in sets.items() if key != name])
            for name, rows in several.items()
        },
    }
