"""Questions about texts and chats: evidence found, and answers by a model from the passages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from treering.embed.contract import Embedder
from treering.embed.registry import open_embedder
from treering.llm.contract import LLM
from treering.llm.settings import NONE, open_llm
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering.views.presets import preset_of
from treering_bench.answer import AnswerSettings, answer
from treering_bench.embedding import VectorCache
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
from treering_bench.models import KeptModel
from treering_bench.options import RunOptions
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.policy.registry import policies
from treering_bench.policy.unranked import with_a_part
from treering_bench.prompts import answer_prompt
from treering_bench.read import read_as
from treering_bench.registry import Benchmark
from treering_bench.runner import Group, Measured, Plan, Way, chosen
from treering_bench.space import TaskSpace, count_words
from treering_bench.task import Task, TaskQuestion

DEFAULT_BUDGET = 1000  # tokens of context for an answer

Measure = Callable[[RetrievalPolicy, TaskSpace, TaskQuestion], Measured]

_FINDING = {"summaries", "replies", "minutes", "preset", "setting", "embedder", "shown"}
_ANSWERING = _FINDING | {"llm", "judge", "budget", "words", "temperature"}


def plan(
    benchmark: Benchmark, options: RunOptions, opened: ExitStack, replies: Path
) -> Plan[TaskSpace, TaskQuestion]:
    """The plan of a run. Models are closed with ``opened``."""
    what = f"{benchmark.name} {'with' if options.llm else 'without'} --llm"
    options.refuse_all_but(what, _ANSWERING if options.llm else _FINDING)
    if options.preset is not None:
        preset_of(options.preset)  # raises before any model is opened
    embedder = open_embedder(options.embedder)
    models: dict[str, LLM] = {}  # one model may have several roles, each with its own costs

    def kept(spec: str | None) -> KeptModel | None:
        if spec is None:
            return None
        if spec not in models:
            models[spec] = opened.enter_context(closing(open_llm(spec)))
        return KeptModel(models[spec], replies, minutes=options.minutes, estimating=False)

    answering, judge, writer = map(kept, (options.llm, options.judge, options.summaries))
    settings: dict[str, Any] = {"embedder": embedder.name}
    if answering is None:
        level, measure, counts = _without_model(benchmark)
    else:
        how = AnswerSettings(
            answering,
            answer_prompt(benchmark.prompt),
            judge,
            options.temperature or 0.0,
            options.seed,
        )
        budget = options.budget or DEFAULT_BUDGET
        level, measure, counts = "answers", partial(_answers, how, budget), _is_asked
        settings |= {"model": answering.model, "temperature": how.temperature, "budget": budget}
        settings |= {"judge": judge.model} if judge else {}
        settings |= {"unit of the budget": "words"} if options.words else {}
    settings |= {"preset": options.preset} if options.preset else {}
    settings |= options.settings | ({"summaries": writer.model} if writer else {})
    remember = partial(
        remembered,
        embedder=VectorCache(embedder),
        writer=writer,
        preset=options.preset,
        settings=options.settings,
        count=count_words if options.words else estimate_tokens,
    )
    names = options.policy or ["all"]
    picking = policies(names, options.seed, rater=writer or answering, writer=writer)
    return Plan(
        level,
        [_way(policy, measure, shown=options.shown) for policy in picking],
        _groups(benchmark, options, counts, remember),
        "whose evidence is marked" if level == "evidence" else "that has an answer",
        settings,
        {"llm": answering, "judge": judge, "summaries": writer},
    )


def _groups(
    benchmark: Benchmark,
    options: RunOptions,
    counts: Callable[[TaskQuestion], bool],
    remember: Callable[[Task], Any],
) -> Iterator[Group[TaskSpace, TaskQuestion]]:
    tasks: dict[str, Task] = {}

    def asked() -> Iterator[tuple[str, Sequence[TaskQuestion]]]:
        tasks.clear()
        for task in read_as(benchmark.name, options.data, benchmark.load(options.data)):
            tasks[task.space] = task
            yield task.space, list(filter(counts, task.questions))

    for name, questions in chosen(
        asked, limit=options.limit, sample=options.sample, seed=options.seed
    ):
        yield Group(name, questions, partial(remember, tasks.pop(name)))


@contextmanager
def remembered(
    task: Task,
    embedder: Embedder,
    writer: LLM | None = None,
    preset: str | None = None,
    settings: Mapping[str, Any] | None = None,
    count: Callable[[str], int] = estimate_tokens,
) -> Iterator[TaskSpace]:
    """A task in a memory of its own, in a folder that goes with it.

    ``writer`` writes summaries and memos; without it summaries are extracted. ``preset`` is that of
    ``Memory.configure``, and ``settings`` go on top of it.
    """
    with (
        TemporaryDirectory(prefix="treering-bench-") as folder,
        Memory.open(Path(folder) / "bench.db", embedder=embedder, llm=writer or NONE) as memory,
        closing(TaskSpace(memory, task, embedder, count)) as space,
    ):
        if preset is not None or settings:
            space.configure(preset, settings or {})
        yield space


def _way(policy: RetrievalPolicy, measure: Measure, *, shown: bool) -> Way[TaskSpace, TaskQuestion]:
    def measured(space: TaskSpace, question: TaskQuestion) -> Measured:
        space.remember(question.before)
        found = measure(policy, space, question)
        details = dict(found.details)
        if (position := space.position(question)) is not None:
            details["position"] = position
        if shown:
            picked = policy.pick(space, question) if policy.pick else ()
            filled = policy.within(space, question, picked, DEFAULT_BUDGET)
            details["shown"] = [passage.text for passage in filled]
            details["asked"], details["answers"] = question.text, question.answers
        return Measured(found.metrics, details)

    return Way(policy.name, measured)


def _without_model(
    benchmark: Benchmark,
) -> tuple[str, Measure, Callable[[TaskQuestion], bool]]:
    """Without marked evidence, measure the words of the answers."""
    if benchmark.marked:
        return "evidence", evidence, lambda question: bool(question.evidence)
    return "words", words, lambda question: bool(question.answers)


def _is_asked(question: TaskQuestion) -> bool:
    """Whether a model answers it. Without references only a judge scores the reply."""
    return question.answerable and bool(question.answers or question.evidence)


def evidence(policy: RetrievalPolicy, space: TaskSpace, question: TaskQuestion) -> Measured:
    """The evidence found, without any language model."""
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
    return Measured(metrics)


def words(policy: RetrievalPolicy, space: TaskSpace, question: TaskQuestion) -> Measured:
    """The words of the answers in the passages that are shown."""
    metrics: dict[str, float] = {}
    picked = policy.pick(space, question) if policy.pick is not None else ()
    for budget in BUDGETS:
        filled = policy.within(space, question, picked, budget)
        if policy.fill is None:  # fragments may be longer than a budget
            filled = with_a_part([*filled], picked, budget, "beginning", space.count)
        share = word_recall("\n".join(passage.text for passage in filled), question.answers)
        if share is not None:
            metrics[f"words@{budget}tokens"] = share
    return Measured(metrics)


def _answers(
    how: AnswerSettings,
    budget: int,
    policy: RetrievalPolicy,
    space: TaskSpace,
    question: TaskQuestion,
) -> Measured:
    """An answer by a model that sees ``budget`` tokens of a policy's passages."""
    if policy.prompt is not None:
        asked = policy.prompt(space, question, budget)
    else:
        picked = policy.pick(space, question) if policy.pick else ()
        passages = policy.within(space, question, picked, budget)
        in_reading_order = sorted(passages, key=lambda passage: passage.place)
        asked = how.messages(question, "\n".join(passage.text for passage in in_reading_order))
    answered = answer(question, asked, how, _gold(space, question))
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
    return Measured({**answered.metrics, **tokens}, details)


def _gold(space: TaskSpace, question: TaskQuestion) -> str:
    """The pieces that hold a question's evidence, whole and in reading order."""
    pieces = (piece for piece in space.pieces if question.evidence.intersection(piece.units))
    return "\n\n".join(piece.text for piece in pieces)
