"""Running a benchmark: remember each task once, put every question to every policy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from heapq import nsmallest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from treering.embed.contract import Embedder
from treering.errors import InputError
from treering.llm.contract import LLM
from treering.llm.settings import NONE
from treering.memory import Memory
from treering_bench.answer import AnswerSettings, answer
from treering_bench.metrics.answers import word_recall
from treering_bench.metrics.evidence import (
    BUDGETS,
    RetrievedPassage,
    by_rank,
    overall,
    ranked_units,
    reached,
    recall,
)
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.policy.unranked import with_a_part
from treering_bench.read import read_as
from treering_bench.registry import Benchmark
from treering_bench.results import QuestionResult, Results
from treering_bench.space import TaskSpace
from treering_bench.task import Task, TaskQuestion

Measure = Callable[[RetrievalPolicy, TaskSpace, TaskQuestion], QuestionResult]
Progress = Callable[[int, int, str], None]
"""Called with questions done and known so far, and what is being done."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What is measured: which questions count (``counted`` says it in words), and how."""

    name: str
    counts: Callable[[TaskQuestion], bool]
    counted: str
    measure: Measure


def evidence_level() -> Measurement:
    """Evidence found, without any language model."""
    counted = "whose evidence is marked"
    return Measurement("evidence", lambda question: bool(question.evidence), counted, _evidence)


def word_level() -> Measurement:
    """The words of the answers in what is shown: for benchmarks that mark no evidence."""
    counted = "that has an answer"
    return Measurement("words", lambda question: bool(question.answers), counted, _words)


def answer_level(how: AnswerSettings, budget: int) -> Measurement:
    """Answers by a model that sees ``budget`` tokens of what a policy picked."""

    def measure(
        policy: RetrievalPolicy, space: TaskSpace, question: TaskQuestion
    ) -> QuestionResult:
        picked = policy.pick(space, question) if policy.pick else ()
        passages = policy.within(space, question, picked, budget)
        in_reading_order = sorted(passages, key=lambda passage: passage.place)
        context = "\n".join(passage.text for passage in in_reading_order)
        answered = answer(question, context, how, _gold(space, question))
        cost = answered.judging
        details = {
            "answer": answered.text,
            "unread": dict(answered.unread),
            "judging": {"prompt": cost.prompt_tokens, "completion": cost.completion_tokens},
        }
        tokens = {
            "tokens prompt": answered.usage.prompt_tokens,
            "tokens reply": answered.usage.completion_tokens,
        }
        return _measured(policy, space, question, {**answered.metrics, **tokens}, details)

    def counts(question: TaskQuestion) -> bool:
        rated = how.judge is not None and bool(question.evidence)
        return question.answerable and (bool(question.answers) or rated)

    counted = "that has an answer; where none has, let a model rate them, with --judge"
    return Measurement("answers", counts, counted if how.judge is None else "of any kind", measure)


def _gold(space: TaskSpace, question: TaskQuestion) -> str:
    """The pieces that hold a question's evidence, whole and in reading order."""
    pieces = (piece for piece in space.pieces if question.evidence.intersection(piece.units))
    return "\n\n".join(piece.text for piece in pieces)


def run_benchmark(
    benchmark: Benchmark,
    data: Path,
    policies: Sequence[RetrievalPolicy],
    level: Measurement,
    results: Results,
    embedder: Embedder,
    *,
    limit: int | None = None,
    sample: int | None = None,
    summaries: LLM | None = None,
    preset: str | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
    progress: Progress | None = None,
) -> None:
    """Measure every question with every policy, and add each line to ``results`` as it is known.

    ``limit`` takes the first questions that count, ``sample`` some of all of them. What ``results``
    already holds is not done again; a task with nothing left to do is not even remembered.
    ``summaries`` writes those of the policies that draw on the tree, and memos; without it the
    former are extracted. ``preset`` is that of ``Memory.configure``: policies that do not say
    otherwise, such as ``treering``, search as it says, and so many hits as it says. ``settings``
    go on top of it: those of ``Memory.configure`` and ``memory.tree.replant``.

    Raises:
        InputError: the data are not this benchmark's, or hold no question that counts.
    """
    counts = level.counts
    if sample is not None:
        counts = drawn(_loaded(benchmark, data), counts, sample, results.run.seed)
    done = total = 0
    for task in limited(_loaded(benchmark, data), counts, limit):
        total += len(task.questions)
        left = _left(task, policies, results)
        if left:
            if progress:
                progress(done, total, f"adding {task.space}")
            with remembered(task, embedder, summaries, preset, settings) as space:
                for question, due in left:
                    space.remember(question.before)
                    for policy in due:
                        results.add(level.measure(policy, space, question))
                    done += 1
                    if progress:
                        progress(done, total, task.space)
        done = total
    if not total:
        raise InputError(
            f"{data} holds no question {level.counted}; `treering-bench data {benchmark.name}` "
            "says what the file should be"
        )


def _loaded(benchmark: Benchmark, data: Path) -> Iterator[Task]:
    return read_as(benchmark.name, data, benchmark.load(data))


def limited(
    tasks: Iterable[Task], counts: Callable[[TaskQuestion], bool], limit: int | None
) -> Iterator[Task]:
    """The tasks with the questions that count, up to ``limit`` questions in all."""
    room = limit
    for task in tasks:
        asked = tuple(filter(counts, task.questions))[:room]
        if asked:
            yield replace(task, questions=asked)
        if room is not None:
            room -= len(asked)
            if room <= 0:
                return


def drawn(
    tasks: Iterable[Task], counts: Callable[[TaskQuestion], bool], size: int, seed: int
) -> Callable[[TaskQuestion], bool]:
    """Whether a question is among ``size`` drawn from all that count.

    The draw goes by a digest of each question, so a larger sample holds every smaller one, and a
    run can be extended.
    """
    asked = (question for task in tasks for question in task.questions if counts(question))
    chosen = nsmallest(size, {_draw(question, seed) for question in asked})
    last = chosen[-1] if chosen else b""
    return lambda question: counts(question) and _draw(question, seed) <= last


def _draw(question: TaskQuestion, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{question.id}\0{question.text}".encode()).digest()


@contextmanager
def remembered(
    task: Task,
    embedder: Embedder,
    summaries: LLM | None,
    preset: str | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> Iterator[TaskSpace]:
    """A task in a memory of its own, in a folder that goes with it."""
    with (
        TemporaryDirectory(prefix="treering-bench-") as folder,
        Memory.open(Path(folder) / "bench.db", embedder=embedder, llm=summaries or NONE) as memory,
        TaskSpace(memory, task, embedder) as space,
    ):
        if preset is not None or settings:
            space.configure(preset, settings)
        space.remember(task.questions[0].before)
        yield space


def _left(
    task: Task, policies: Sequence[RetrievalPolicy], results: Results
) -> list[tuple[TaskQuestion, list[RetrievalPolicy]]]:
    """Each question with the policies it has not been put to yet."""
    left = []
    for question in task.questions:
        due = [p for p in policies if (p.name, task.space, question.id) not in results]
        if due:
            left.append((question, due))
    return left


def _evidence(policy: RetrievalPolicy, space: TaskSpace, question: TaskQuestion) -> QuestionResult:
    metrics: dict[str, float] = {}
    picked: Sequence[RetrievedPassage] = ()
    if policy.pick is not None:
        picked = policy.pick(space, question)
        if policy.ranked:
            metrics |= by_rank(picked, question.evidence)
        metrics |= overall(picked, question.evidence)
    for budget in BUDGETS:
        filled = policy.within(space, question, picked, budget)
        metrics[f"recall@{budget}tokens"] = recall(ranked_units(filled), question.evidence)
        metrics[f"reach@{budget}tokens"] = recall(reached(filled), question.evidence)
    return _measured(policy, space, question, metrics, {})


def _words(policy: RetrievalPolicy, space: TaskSpace, question: TaskQuestion) -> QuestionResult:
    metrics: dict[str, float] = {}
    picked = policy.pick(space, question) if policy.pick is not None else ()
    for budget in BUDGETS:
        filled = policy.within(space, question, picked, budget)
        if policy.fill is None:  # fragments may be longer than a budget
            filled = with_a_part([*filled], picked, budget, "beginning", space.count)
        share = word_recall("\n".join(passage.text for passage in filled), question.answers)
        if share is not None:
            metrics[f"words@{budget}tokens"] = share
    return _measured(policy, space, question, metrics, {})


def _measured(
    policy: RetrievalPolicy,
    space: TaskSpace,
    question: TaskQuestion,
    metrics: Mapping[str, float],
    details: Mapping[str, object],
) -> QuestionResult:
    return QuestionResult(
        policy.name, space.task.space, question.id, question.category, metrics, details
    )
