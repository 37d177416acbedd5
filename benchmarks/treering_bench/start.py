"""Starts a run: a benchmark of questions, or of code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering.llm.contract import LLM
from treering.llm.settings import open_llm
from treering.views.presets import preset_of
from treering_bench.answer import AnswerSettings
from treering_bench.coding.policy import code_policies
from treering_bench.coding.run import run_code
from treering_bench.coding.task import CodeTask, OmittedTask
from treering_bench.embedding import QuestionCache, TextCache
from treering_bench.kept_replies import KeptReplies
from treering_bench.policy.registry import policies
from treering_bench.prompts import answer_prompt
from treering_bench.read import read_as, sha256_of
from treering_bench.registry import AnyBenchmark, Benchmark, CodeBenchmark
from treering_bench.report import Scores, summary
from treering_bench.results import Results, RunHeader, this_run
from treering_bench.run import (
    Measurement,
    Progress,
    answer_level,
    evidence_level,
    run_benchmark,
    word_level,
)

DEFAULT_BUDGET = 1000  # tokens of context for an answer
RETRIEVAL = "retrieval"
SOURCES = "sources"  # the folder beside a code benchmark's tasks, where none is named


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run, as on the command line."""

    data: Path
    policies: tuple[str, ...]
    embedder: str
    budget: int | None = None
    out: Path | None = None
    limit: int | None = None
    sample: int | None = None
    llm: str | None = None
    judge: str | None = None
    summaries: str | None = None
    sources: Path | None = None
    temperature: float | None = None
    preset: str | None = None
    settings: tuple[str, ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run found: one JSON object, and the scores by question where there are any.

    ``held`` is how many results the file held before; they count in the figures.
    """

    summary: dict[str, Any]
    scores: Scores | None = None
    held: int = 0


Shown = Callable[[str], AbstractContextManager[Progress]]
"""Opens a progress display for a benchmark of that name."""


def start(chosen: AnyBenchmark, options: RunOptions, shown: Shown) -> RunReport:
    """Run ``chosen``. What its results file holds already is not measured again."""
    match chosen:
        case Benchmark():
            return _questions(chosen, options, shown)
        case CodeBenchmark():
            return _code(chosen, options, shown)


def _questions(chosen: Benchmark, options: RunOptions, shown: Shown) -> RunReport:
    _refuse(chosen.name, sources=options.sources)
    if options.llm is None:
        asked = {"judge": options.judge, "temperature": options.temperature}
        _refuse(f"{chosen.name} without --llm", budget=options.budget, **asked)
    budget = DEFAULT_BUDGET if options.budget is None else options.budget
    model = open_embedder(options.embedder)
    if options.preset is not None:
        preset_of(options.preset)  # raises before any model is opened
    with ExitStack() as opened:
        how = _answering(opened, chosen, options)
        level = _level(chosen, how, budget)
        replies = _path(chosen, options, level.name).with_suffix(".replies.jsonl")
        writer = _writer(opened, options, replies)
        rater = writer or (KeptReplies(how.llm, replies) if how else None)
        picking = policies(options.policies, options.seed, rater, writer)
        settings = dict(map(_setting, options.settings))
        decided = _decided(level, model.name, budget, how, writer, options.preset, settings)
        path, results = _results(opened, chosen, options, level.name, decided)
        held = len(results.measured)
        run_benchmark(
            chosen,
            options.data,
            picking,
            level,
            results,
            QuestionCache(model),
            limit=options.limit,
            sample=options.sample,
            summaries=writer,
            preset=options.preset,
            settings=settings,
            progress=opened.enter_context(shown(chosen.name)),
        )
        scores = Scores.of(results.run, results.measured.values())
    return RunReport(_summary(chosen, level.name, path, scores), scores, held)


def _writer(opened: ExitStack, options: RunOptions, replies: Path) -> LLM | None:
    """The model of the memories, whose replies are kept: a run that goes on finds the same ones."""
    if options.summaries is None:
        return None
    return KeptReplies(opened.enter_context(closing(open_llm(options.summaries))), replies)


def _code(chosen: CodeBenchmark, options: RunOptions, shown: Shown) -> RunReport:
    asked = {"llm": options.llm, "judge": options.judge, "summaries": options.summaries}
    asked |= {"preset": options.preset}
    _refuse(chosen.name, sample=options.sample, set=options.settings or None, **asked)
    picking = code_policies(options.policies)
    beside = options.data if options.data.is_dir() else options.data.parent
    sources = options.sources or beside / SOURCES
    read = list(read_as(chosen.name, options.data, chosen.load(options.data, sources)))
    tasks = [task for task in read if isinstance(task, CodeTask)]
    if not tasks:
        reasons = Counter(
            task.reason for task in read if isinstance(task, OmittedTask)
        ).most_common(3)
        why = "; ".join(f"{reason} ({n})" for reason, n in reasons) or "it holds none"
        raise InputError(f"{options.data} holds no task that can be run with {sources}: {why}")
    # Most fragments of a file with a hole are those of the whole file, and of other tasks.
    model = TextCache(open_embedder(options.embedder))
    with ExitStack() as opened:
        decided = {"level": RETRIEVAL, "embedder": model.name, "sources": sha256_of(sources)}
        path, results = _results(opened, chosen, options, RETRIEVAL, decided)
        progress = opened.enter_context(shown(chosen.name))
        run_code(tasks, sources, picking, results, model, limit=options.limit, progress=progress)
        scores = Scores.of(results.run, results.measured.values())
    figures_of_policies = _summary(chosen, RETRIEVAL, path, scores)
    return RunReport(
        figures_of_policies | {"tasks": len(tasks), "left_out": len(read) - len(tasks)}, scores
    )


def _level(chosen: Benchmark, how: AnswerSettings | None, budget: int) -> Measurement:
    if how is not None:
        return answer_level(how, budget)
    return evidence_level() if chosen.marked else word_level()


def _setting(given: str) -> tuple[str, Any]:
    """A name and its value, which is JSON if it can be. Raises InputError."""
    name, is_there, value = given.partition("=")
    if not is_there:
        raise InputError(f"--set {given!r} is not of the form NAME=VALUE, such as k=3")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _decided(
    level: Measurement,
    embedder: str,
    budget: int,
    how: AnswerSettings | None,
    summaries: LLM | None,
    preset: str | None,
    settings: dict[str, Any],
) -> dict[str, object]:
    """What decides the figures besides code and data, for a results file's header."""
    chosen: dict[str, object] = {"level": level.name, "embedder": embedder}
    if how is not None:
        chosen |= {"model": how.llm.model, "temperature": how.temperature, "budget": budget}
        chosen |= {"judge": how.judge.model} if how.judge else {}
    chosen |= {"preset": preset} if preset else {}
    return chosen | settings | ({"summaries": summaries.model} if summaries else {})


def _refuse(what: str, /, **options: object) -> None:
    """Raise InputError for options that this kind of benchmark has no use for."""
    given = [f"--{name}" for name, value in options.items() if value is not None]
    if given:
        raise InputError(f"{what} takes no {' or '.join(given)}; leave it out")


def _results(
    opened: ExitStack,
    chosen: AnyBenchmark,
    options: RunOptions,
    level: str,
    decided: dict[str, Any],
) -> tuple[Path, Results]:
    header = this_run(chosen.name, sha256_of(options.data), options.seed, decided)
    path = _path(chosen, options, level)
    return path, opened.enter_context(Results(path, header))


def _path(chosen: AnyBenchmark, options: RunOptions, level: str) -> Path:
    return options.out or Path("results") / f"{chosen.name}-{level}.jsonl"


def _answering(opened: ExitStack, chosen: Benchmark, options: RunOptions) -> AnswerSettings | None:
    """How to answer, with models that ``opened`` closes; one model serves both roles if it can."""
    if options.llm is None:
        return None
    answering = opened.enter_context(closing(open_llm(options.llm)))
    judging = answering
    if options.judge is not None and options.judge != options.llm:
        judging = opened.enter_context(closing(open_llm(options.judge)))
    return AnswerSettings(
        llm=answering,
        prompt=answer_prompt(chosen.prompt),
        judge=None if options.judge is None else judging,
        temperature=options.temperature or 0.0,
        seed=options.seed,
    )


def _summary(chosen: AnyBenchmark, level: str, path: Path, scores: Scores) -> dict[str, Any]:
    return _head(chosen, level, scores.run, path) | {"policies": summary(scores)}


def _head(
    chosen: AnyBenchmark, level: str, run: RunHeader, path: Path | None = None
) -> dict[str, Any]:
    """The first fields of every run's object; ``path`` is its results file."""
    return {
        "benchmark": chosen.name,
        "level": level,
        **({"results": str(path)} if path else {}),
        "commit": run.commit,
        "data_sha256": run.data_sha256,
    }
