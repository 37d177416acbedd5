"""What vectors of eight bits change of the best hits, against scoring with floats alone.

Questions and texts are those of benchmarks, all in one space: eight bits are for spaces of over
20,000 fragments, and few benchmarks have so many.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from treering.embed.contract import Embedder
from treering.errors import InputError
from treering.llm.settings import NONE
from treering.memory import Memory
from treering.records import Hit
from treering.views.fragments.table import EXACT_ROWS
from treering_bench.embedding import QuestionCache
from treering_bench.metrics.evidence import recall
from treering_bench.space import UNIT, TaskSpace
from treering_bench.task import Task, TaskQuestion, together

K: Final = 10

Step = Callable[[int, int, str], None]
"""Told how much is done, of how much, and what is being done."""


@dataclass(frozen=True, slots=True)
class EightBitReport:
    """How far the ten best hits are those of floats, over the questions of a space.

    ``places`` is the share of places with the same fragment, ``texts`` that of the fragments that
    both find, ``recall`` and ``recall_exact`` that of the evidence among them, over the questions
    that have some; None if none has. ``why`` is the most by which the terms of a score fall short
    of it or exceed it.
    """

    fragments: int
    questions: int
    places: float
    texts: float
    recall: float | None
    recall_exact: float | None
    why: float


@dataclass(frozen=True, slots=True)
class ComparedHits:
    """One question's hits, with eight bits and exact."""

    question: TaskQuestion
    found: Sequence[Hit]
    exact: Sequence[Hit]

    @property
    def places(self) -> list[bool]:
        """Whether each place has the same fragment."""
        pairs = zip(_fragments(self.found), _fragments(self.exact), strict=True)
        return [found == exact for found, exact in pairs]

    @property
    def texts(self) -> float:
        """The share of the best that is found."""
        exact = set(_fragments(self.exact))
        return len(exact.intersection(_fragments(self.found))) / len(exact)

    @property
    def why(self) -> float:
        """The most by which a score is not the sum of its terms."""
        hits = (*self.found, *self.exact)
        return max(abs(sum(hit.why.terms.values()) - hit.score) for hit in hits)


def in_one(named: Iterable[tuple[str, Iterable[Task]]]) -> Task:
    """One space with the tasks of several benchmarks, given with their names."""
    return together(
        replace(task, space=f"{name}/{task.space}") for name, tasks in named for task in tasks
    )


def compared(
    task: Task, embedder: Embedder, sample: int | None, seed: int, step: Step
) -> EightBitReport:
    """Ask the questions of a space, or some drawn by the seed, with eight bits and exactly.

    Raises InputError if nothing is asked of it, or if it is so small that its vectors are floats in
    any case.
    """
    questions = list(task.questions)
    if not questions:
        raise InputError("no question is asked of these data; name a benchmark that has some")
    if sample is not None:
        questions = random.Random(seed).sample(questions, min(sample, len(questions)))
    cached = QuestionCache(embedder)  # both are asked the same
    with TemporaryDirectory(prefix="treering-bench-") as folder:
        path = Path(folder) / "memory.db"
        with Memory.open(path, embedder=cached, llm=NONE) as memory:
            step(0, len(questions), "remembering")
            TaskSpace(memory, task, cached).remember()
            fragments = memory.stats().fragments
        if fragments <= EXACT_ROWS:
            raise InputError(
                f"{fragments:,} fragments are searched exactly in any case, and eight bits begin "
                f"above {EXACT_ROWS:,}; name further benchmarks"
            )
        with (
            Memory.open(path, embedder=cached, llm=NONE) as memory,
            Memory.open(path, embedder=cached, llm=NONE, exact=True) as exact,
        ):
            pairs = []
            for done, question in enumerate(questions):
                step(done, len(questions), "asking")
                found, best = (one.search(question.text, k=K) for one in (memory, exact))
                pairs.append(ComparedHits(question, found, best))
    return report_of(fragments, pairs)


def report_of(fragments: int, pairs: Sequence[ComparedHits]) -> EightBitReport:
    """The figures of the questions of a space."""
    asked = [pair for pair in pairs if pair.question.evidence]
    return EightBitReport(
        fragments,
        len(pairs),
        places=statistics.fmean(same for pair in pairs for same in pair.places),
        texts=statistics.fmean(pair.texts for pair in pairs),
        recall=_recall((pair.question, pair.found) for pair in asked),
        recall_exact=_recall((pair.question, pair.exact) for pair in asked),
        why=max(pair.why for pair in pairs),
    )


def _recall(asked: Iterable[tuple[TaskQuestion, Sequence[Hit]]]) -> float | None:
    found = [
        recall([str(hit.metadata[UNIT]) for hit in hits], question.evidence)
        for question, hits in asked
    ]
    return statistics.fmean(found) if found else None


def _fragments(hits: Sequence[Hit]) -> list[tuple[str, int]]:
    return [(hit.entry_id, hit.start) for hit in hits]
