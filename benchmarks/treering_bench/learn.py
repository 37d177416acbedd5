"""Learn the weights of chats from questions with evidence.

Each term of a score is a feature of a fragment. A listwise softmax over the fragments of a memory
is fitted so that the evidence of a question gets most of the probability.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
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
from treering.search.pipeline import EnvironmentTerm
from treering.search.ranking import Contribution, Ranking
from treering.search.relations.contract import LEARNED, Plan, Weighted
from treering.search.relations.decay import ContextRelation
from treering.search.relations.group import Session, WholeMessage
from treering.search.searcher import Search
from treering.search.signals.question import NamedSpeaker, ReplyTo, Role, When, Wish
from treering.search.snapshot import allowed_rows
from treering_bench.quality import FOLDERS, METRICS
from treering_bench.read import read_as, sha256_of
from treering_bench.registry import with_texts
from treering_bench.space import UNIT, TaskSpace
from treering_bench.task import Task, TaskQuestion

CONTEXT: Final = ContextRelation(w=0.6, within="session")
TERMS: Final = {
    "people": (CONTEXT, NamedSpeaker(), ReplyTo(), When()),
    "assistant": (CONTEXT, WholeMessage(), Session(), Role(), Wish(), When()),
}
"""The relations and signals that are learned for each kind of chats."""

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
    name: str, chats: str, data: Path, embedder: Embedder, progress: Progress
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
            asked = [question for question in task.questions if question.evidence]
            for done, question in enumerate(asked):
                progress(done, len(asked), f"{name} {task.space}")
                space.remember(question.before)
                ranked.append(_ranked(memory, space, chats, task, question))
    return ranked


def features(chats: str) -> list[str]:
    """The names of the terms that are learned."""
    return ["lexical", "dense", *(term.name for term in TERMS[chats])]


def _ranked(
    memory: Memory, space: TaskSpace, chats: str, task: Task, question: TaskQuestion
) -> RankedQuestion:
    plan: Plan = {"chat": [Weighted(term, 1.0, 1.0) for term in TERMS[chats]]}
    views = memory._views
    views.catch_up()
    searcher = views.searcher
    asked = Search(question.text, Filter(), "hybrid", plan, "messages")
    with searcher._read(asked) as (reader, found):
        assert found is not None
        snapshot, asked = found
        allowed = allowed_rows(reader, snapshot, Filter())
        now = Filter(as_of=question.at or space.now)
        ranking = searcher._rank(reader, snapshot, replace(asked, condition=now), allowed)
        assert isinstance(ranking, Ranking)
        seqs = snapshot.entry.tolist()
        entry_by_seq = entries.there(reader, seqs)
    nothing = np.zeros(len(seqs))
    columns = {name: _values(term, len(seqs)) for name, term in ranking.terms.items()}
    columns["lexical"] /= LEARNED["lexical"]
    return RankedQuestion(
        task.space,
        np.stack([columns.get(name, nothing) for name in features(chats)], axis=1),
        np.array([entry_by_seq[seq].metadata[UNIT] for seq in seqs]),
        tuple(sorted(question.evidence)),
        question.answerable,
    )


def _values(term: Contribution, size: int) -> Features:
    """The values of a term at all fragments."""
    if isinstance(term, EnvironmentTerm):  # adding it once more would weigh it twice
        return np.asarray(sum(part.values.astype(np.float64) for part in term.parts))
    values = np.zeros(size, dtype=np.float32)
    term.add_to(values)
    return values.astype(np.float64)


def fit(rows: Sequence[RankedQuestion]) -> Features:
    """The weights of the features as multiples of that of the cosine; none is negative."""
    size = rows[0].features.shape[1]

    def loss(weights: Features) -> tuple[float, Features]:
        total, slope = 0.0, np.zeros(size)
        for row in rows:
            scores = row.features @ weights
            chance = np.exp(scores - scores.max())
            chance /= chance.sum()
            mean = chance @ row.features
            for unit in row.evidence:
                of_unit = chance * (row.units == unit)
                found = of_unit.sum()
                if found > 0:
                    total -= float(np.log(found)) / len(row.evidence)
                    slope -= (of_unit @ row.features / found - mean) / len(row.evidence)
        total, slope = total / len(rows), slope / len(rows)
        return total + PENALTY * float(weights @ weights) / 2, slope + PENALTY * weights

    bounds = [(0.0, None)] * size
    weights: Features = minimize(
        loss, np.full(size, 0.3), jac=True, method="L-BFGS-B", bounds=bounds
    ).x
    relative: Features = weights / weights[1]
    return relative


def left_out(
    rows: Sequence[RankedQuestion], others: Sequence[RankedQuestion]
) -> dict[str, dict[str, float]]:
    """What weights find in each task of a data set that were learned without that task."""
    ranks: dict[bool, list[list[int]]] = {True: [], False: []}
    for task in dict.fromkeys(row.task for row in rows):
        weights = fit([*(row for row in rows if row.task != task), *others])
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


def report(chats: str, data: Path, sets: Mapping[str, Sequence[RankedQuestion]]) -> dict[str, Any]:
    """Weights, what they find, and what they find where they were not learned."""
    weights = fit([row for rows in sets.values() for row in rows])
    several = {name: rows for name, rows in sets.items() if len({row.task for row in rows}) > 1}
    names = features(chats)
    return {
        "chats": chats,
        "weights": {name: round(float(w), 3) for name, w in zip(names, weights, strict=True)},
        "learned_on": {name: sha256_of(data / FOLDERS[name]) for name in sets},
        "found": {name: found(rows, weights) for name, rows in sets.items()},
        "left_out": {
            name: left_out(rows, [row for key in sets if key != name for row in sets[key]])
            for name, rows in several.items()
        },
    }


def ship(file: Path, learned: Mapping[str, Any]) -> None:
    """Write the weights and what they were learned on, as the package reads them."""
    shipped = {key: learned[key] for key in ("chats", "weights", "learned_on")}
    file.write_text(json.dumps(shipped, indent=2) + "\n", encoding="utf-8")
