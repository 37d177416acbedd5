"""Fitting and measuring ``hit.confidence``: is what was found what was asked for, or is nothing?

Every question is asked three times: of the memory with its evidence, of the same memory without,
and of the memory of another task. The hits of the first two are what the logistic model of
:mod:`treering.search.confidence` is fitted to, on some benchmarks; on others it is measured.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

from treering.arrays import Floats
from treering.embed.contract import Embedder
from treering.journal import entries
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering.search.confidence import FEATURES, ConfidenceModel
from treering.search.own import Mode
from treering.search.rank import rank
from treering.search.relations.combine import Relations
from treering.search.snapshot import Snapshot
from treering_bench.embedding import QuestionCache
from treering_bench.registry import Benchmark
from treering_bench.space import UNIT, TaskSpace
from treering_bench.task import Task, TaskQuestion

DEPTH = 20
"""Hits of each question that are looked at: what a context of 1,000 tokens holds of turns."""

CONTEXT_TOKENS = 1_000
FOREIGN = tuple(
    TaskQuestion(str(number), text)
    for number, text in enumerate(
        (
            "Why does the parser drop the last line of the file?",
            "Add a --dry-run option to the deploy command and test it.",
            "What is the boiling point of ethanol at 2,000 metres?",
            "Rename the column invoice_total and write the migration.",
            "Which king of Portugal founded the university of Coimbra?",
            "The build fails with an undefined symbol in libssl, fix it.",
            "How many moons does Neptune have?",
            "Write a haiku about a rusty bicycle.",
            "Explain the difference between a mutex and a semaphore.",
            "Translate the error messages of the login page into French.",
        )
    )
)
"""Asked of a benchmark with a single memory, which knows nothing of them."""

RIDGE = 1e-5
_versions = count(-1, -1)  # snapshots made here are none of those that a table has made


@dataclass(frozen=True, slots=True)
class AskedHit:
    """A hit of a question: its features, its size, and whether it is evidence."""

    features: Mapping[str, float]
    tokens: int
    relevant: bool


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question's hits, best first: with its evidence in the memory, and without; and those of a
    question of another task, of which the memory knows nothing at all (none of a single task).
    """

    present: tuple[AskedHit, ...]
    absent: tuple[AskedHit, ...]
    foreign: tuple[AskedHit, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfidenceReport:
    """How well a model tells hits that answer from those that do not, on one benchmark.

    ``auc`` is the chance that a question's surest hit is surer with its evidence in the memory than
    without; ``foreign_auc`` than that of another task's question; ``hit_auc`` that evidence is
    surer than another hit. Of contexts of 1,000 tokens: ``useless`` is the share of tokens that
    are no evidence at the threshold, ``useless_before`` without one, over the memories with and
    without; ``tokens`` and ``tokens_before`` their mean lengths. ``empty_absent``,
    ``empty_foreign`` and ``empty_present`` are the shares of contexts with nothing in them;
    ``evidence`` is the share of evidence among the hits that the threshold leaves in.
    ``calibration`` is the mean distance of stated from met probability, over ten bins.
    """

    questions: int
    auc: float
    foreign_auc: float
    hit_auc: float
    useless_before: float
    useless: float
    tokens_before: float
    tokens: float
    empty_absent: float
    empty_foreign: float
    empty_present: float
    evidence: float
    calibration: float


def asked_questions(
    tasks: Sequence[Task],
    embedder: Embedder,
    mode: Mode = "hybrid",
    limit: int | None = None,
    seed: int = 0,
    foreign: Sequence[TaskQuestion] = (),
) -> Iterator[AskedQuestion]:
    """Ask the questions that have evidence, or ``limit`` of them drawn from all by the seed.

    ``foreign`` are questions that a single task knows nothing of; of several the next one's are.
    """
    drawn = {(at, question.id) for at, task in enumerate(tasks) for question in task.questions}
    if limit is not None:
        drawn = set(random.Random(seed).sample(sorted(drawn), min(limit, len(drawn))))
    for at, task in enumerate(tasks):
        chosen = tuple(entry for entry in task.questions if (at, entry.id) in drawn)
        others = tasks[(at + 1) % len(tasks)].questions if len(tasks) > 1 else foreign
        with (
            TemporaryDirectory() as folder,
            Memory.open(Path(folder, "task.db"), embedder=embedder) as memory,
        ):
            TaskSpace(memory, task, embedder).remember()
            asker = _Asker(memory, embedder, mode)
            for number, question in enumerate(chosen):
                other = others[number % len(others)] if others else None
                asked = asker.ask(question, other)
                if asked is not None:
                    yield asked


def asked_benchmark(
    entry: Benchmark, path: Path, embedder: Embedder, limit: int | None
) -> Iterator[AskedQuestion]:
    """Ask the questions of a benchmark. Raises InputError."""
    # A question that twists what was said is neither one that the memory answers nor a foreign one.
    tasks = [
        replace(task, questions=tuple(asked for asked in task.questions if asked.answerable))
        for task in entry.load(path)
    ]
    yield from asked_questions(tasks, QuestionCache(embedder), limit=limit, foreign=FOREIGN)


class _Asker:
    """Asks questions of a memory, with and without a part of it."""

    def __init__(self, memory: Memory, embedder: Embedder, mode: Mode) -> None:
        base = memory._views.searcher.snapshot()
        assert base is not None  # a task was just remembered
        with memory._space.read() as reader:
            held = entries.by_seq(reader, base.entry.tolist())
        fragments = [held[seq] for seq in base.entry.tolist()]
        self._base = base
        self._unit = np.array([str(entry.metadata[UNIT]) for entry in fragments])
        self._tokens = np.array([estimate_tokens(entry.text) for entry in fragments])
        self._plan = memory._views.planner.plan(None, None)
        self._relations = Relations()
        self._embedder = embedder
        self._mode: Mode = mode

    def ask(self, question: TaskQuestion, other: TaskQuestion | None) -> AskedQuestion | None:
        """The hits of a question; None if the memory holds no evidence for it, or nothing else."""
        relevant = np.isin(self._unit, sorted(question.evidence))
        if not relevant.any() or relevant.all():
            return None
        nothing = np.zeros(len(relevant), dtype=np.bool_)
        rest = without(self._base, relevant)
        return AskedQuestion(
            self._hits(question, self._base, relevant, self._relations),
            self._hits(question, rest, nothing[~relevant], Relations(), self._tokens[~relevant]),
            self._hits(other, self._base, nothing, self._relations) if other else (),
        )

    def _hits(
        self,
        question: TaskQuestion,
        snapshot: Snapshot,
        relevant: NDArray[np.bool_],
        relations: Relations,
        tokens: NDArray[np.int64] | None = None,
    ) -> tuple[AskedHit, ...]:
        text, sizes = question.text, self._tokens if tokens is None else tokens
        lexical = self._mode == "lexical"
        vector = None if lexical else self._embedder.embed([text], query=True)
        ranking = rank(snapshot, relations, self._plan, [text], vector, self._mode)
        rows = ranking.best(0, DEPTH)
        return tuple(
            AskedHit(features, int(sizes[row]), bool(relevant[row]))
            for row, features in zip(rows.tolist(), ranking.features(rows, 0), strict=True)
        )


def without(base: Snapshot, gone: NDArray[np.bool_]) -> Snapshot:
    """A snapshot as it would be had some rows never been added."""
    keep = ~gone
    items = base.items
    columns = {
        name: getattr(items, name)[keep]
        for name in ("document", "position", "session", "speaker", "at", "message")
    }
    fragment = base.fragment[keep]
    vectors = np.asarray(items.vectors)[keep]
    return replace(
        base,
        fragment=fragment,
        entry=base.entry[keep],
        kind=base.kind[keep],
        items=replace(items, **columns, vectors=vectors, fragment=fragment, reading=None),
        lexical=base.lexical.kept(keep),
        embedded=base.embedded[keep],
        version=next(_versions),
        change=None,
        named=None if base.named is None else base.named[keep],
        metadata=base.metadata.without(np.flatnonzero(gone)),
    )


# ------------------------------------------------------------------ fitting


def fit(asked: Sequence[AskedQuestion], names: Sequence[str] = FEATURES) -> ConfidenceModel:
    """The logistic model of these features that fits the hits best; every question counts alike."""
    rows = [hit for pair in asked for side in (pair.present, pair.absent) for hit in side]
    matrix = np.array([[hit.features[name] for name in names] for hit in rows])
    target = np.array([hit.relevant for hit in rows], dtype=np.float64)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logit = matrix @ weights[1:] + weights[0]
        error = 1 / (1 + np.exp(-logit)) - target
        value = np.mean(np.logaddexp(0, logit) - target * logit) + RIDGE * weights[1:] @ weights[1:]
        slope = np.concatenate([[error.mean()], matrix.T @ error / len(rows)])
        slope[1:] += 2 * RIDGE * weights[1:]
        return float(value), slope

    solved = minimize(loss, np.zeros(len(names) + 1), jac=True, method="L-BFGS-B").x
    weights = {name: round(float(value), 3) for name, value in zip(names, solved[1:], strict=True)}
    return ConfidenceModel(round(float(solved[0]), 3), weights)


# ------------------------------------------------------------------ measuring


def measured(
    asked: Sequence[AskedQuestion], model: ConfidenceModel, threshold: float
) -> ConfidenceReport:
    """How a model does on questions that it was not fitted to."""
    present = [_surest(pair.present, model) for pair in asked]
    absent = [_surest(pair.absent, model) for pair in asked]
    foreign = [_surest(pair.foreign, model) for pair in asked if pair.foreign]
    rows = [hit for pair in asked for side in (pair.present, pair.absent) for hit in side]
    stated = np.array([model.probability(hit.features) for hit in rows])
    target = np.array([hit.relevant for hit in rows], dtype=np.bool_)
    sides = [side for pair in asked for side in (pair.present, pair.absent)]
    before = [_context(side, model, 0.0) for side in sides]
    after = [_context(side, model, threshold) for side in sides]
    return ConfidenceReport(
        questions=len(asked),
        auc=auc(np.array(present), np.array(absent)),
        foreign_auc=auc(np.array(present), np.array(foreign)) if foreign else float("nan"),
        hit_auc=auc(stated[target], stated[~target]),
        useless_before=_useless(before),
        useless=_useless(after),
        tokens_before=float(np.mean([all_ for all_, _ in before])),
        tokens=float(np.mean([all_ for all_, _ in after])),
        empty_absent=float(np.mean(np.array(absent) < threshold)),
        empty_foreign=float(np.mean(np.array(foreign) < threshold)) if foreign else float("nan"),
        empty_present=float(np.mean(np.array(present) < threshold)),
        evidence=float((stated[target] >= threshold).mean()),
        calibration=_calibration(stated, target),
    )


def auc(positive: Floats | NDArray[np.float64], negative: Floats | NDArray[np.float64]) -> float:
    """The chance that a positive value is above a negative one; ties count half."""
    ranks = rankdata(np.concatenate([positive, negative]))[: len(positive)]
    least = len(positive) * (len(positive) + 1) / 2
    return float((ranks.sum() - least) / (len(positive) * len(negative)))


def _surest(hits: Sequence[AskedHit], model: ConfidenceModel) -> float:
    return max(model.probability(hit.features) for hit in hits)


def _context(hits: Sequence[AskedHit], model: ConfidenceModel, threshold: float) -> tuple[int, int]:
    """The tokens that a context holds, and how many of them are of evidence."""
    total = useful = 0
    for hit in hits:
        if model.probability(hit.features) < threshold or total + hit.tokens > CONTEXT_TOKENS:
            continue
        total += hit.tokens
        useful += hit.tokens * hit.relevant
    return total, useful


def _useless(contexts: Sequence[tuple[int, int]]) -> float:
    total = sum(tokens for tokens, _ in contexts)
    return 1 - sum(useful for _, useful in contexts) / total if total else 0.0


def _calibration(stated: NDArray[np.float64], target: NDArray[np.bool_]) -> float:
    order = np.argsort(stated, kind="stable")
    bins = np.array_split(order, 10)
    gaps = [abs(stated[part].mean() - target[part].mean()) * len(part) for part in bins]
    return float(sum(gaps) / len(stated))
