"""The loop that every benchmark goes through: load, policies, metrics; results are the report's.

A benchmark's module makes a ``Plan``. Cases of one group share a world, such as a memory that holds
one conversation, or the index of one project.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, field
from heapq import nsmallest
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from treering.errors import InputError
from treering_bench.models import KeptModel, TimeUp
from treering_bench.options import RunOptions
from treering_bench.read import sha256_of
from treering_bench.registry import AnyBenchmark
from treering_bench.report import Scores, summary
from treering_bench.results import QuestionResult, Results, this_run


class Case(Protocol):
    """One thing that is measured: a question, a task of code, a row of instructions."""

    @property
    def id(self) -> str:
        """Its name within its group."""
        ...

    @property
    def category(self) -> str:
        """The kind by which tables are split."""
        ...

    @property
    def text(self) -> str:
        """Its question or instruction; with the id it decides whether a sample holds the case."""
        ...


World = TypeVar("World")
AnyCase = TypeVar("AnyCase", bound=Case)
Progress = Callable[[int, int, str], None]
"""Called with the cases done and known so far, and the group at hand."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The metrics of one case under one policy, and details that no table shows."""

    metrics: Mapping[str, float]
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Way(Generic[World, AnyCase]):
    """A policy as the loop sees it."""

    name: str
    measure: Callable[[World, AnyCase], Measured]


@dataclass(frozen=True, slots=True)
class Group(Generic[World, AnyCase]):
    """Cases of one task; ``open`` makes the world that they share."""

    task: str
    cases: Sequence[AnyCase]
    open: Callable[[], AbstractContextManager[World]]


@dataclass(frozen=True, slots=True)
class Plan(Generic[World, AnyCase]):
    """All that one run measures.

    ``settings`` decide the figures besides code and data. ``counted`` says in words which cases
    count.
    """

    level: str
    ways: Sequence[Way[World, AnyCase]]
    groups: Iterable[Group[World, AnyCase]]
    counted: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, KeptModel | None] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    """Further entries of a run's summary."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """A finished run: one JSON object, and the scores by case.

    ``held`` is how many results the file held before; they count in the figures.
    """

    summary: Mapping[str, Any]
    scores: Scores
    held: int


def run(
    benchmark: AnyBenchmark,
    options: RunOptions,
    shown: Callable[[str], AbstractContextManager[Progress]],
) -> RunReport:
    """Run a benchmark; cases that its results file holds are not measured again.

    Raises:
        InputError: an option is of no use, the data are not this benchmark's, or hold no case that
            counts; or the results file is of another run.
    """
    module = import_module(benchmark.answer_plan if options.llm else benchmark.plan)
    with ExitStack() as opened:
        out = options.out or Path("results") / f"{benchmark.name}.jsonl"
        replies = options.replies or out.with_suffix(".replies.jsonl")
        plan: Plan[Any, Any] = module.plan(benchmark, options, opened, replies)
        header = this_run(
            benchmark.name,
            sha256_of(options.data),
            options.seed,
            {"level": plan.level, **plan.settings},
        )
        path = options.out or out.with_name(f"{benchmark.name}-{plan.level}.jsonl")
        results = opened.enter_context(closing(Results(path, header)))
        held = len(results.measured)
        if not measure(plan, results, opened.enter_context(shown(benchmark.name))):
            raise InputError(
                f"{options.data} holds nothing {plan.counted}; `treering-bench data "
                f"{benchmark.name}` says what it should be"
            )
        scores = Scores.group(results.run, results.measured.values())
        asked = {
            role: {name: getattr(model.usage, name) for name in _USAGE}
            for role, model in plan.models.items()
            if model is not None
        }
    found = {
        "benchmark": benchmark.name,
        "level": plan.level,
        "results": str(path),
        "commit": results.run.commit,
        "data_sha256": results.run.data_sha256,
        **({"asked": asked} if asked else {}),
        **plan.about,
        "policies": summary(scores),
    }
    return RunReport(found, scores, held)


_USAGE = ("calls", "prompt_tokens", "completion_tokens")


def measure(plan: Plan[Any, Any], results: Results, progress: Progress) -> int:
    """Add a line to ``results`` for each case and policy that it lacks; return how many cases.

    A group with nothing left to do is not opened. A model whose time is up ends the loop.
    """
    done = total = 0
    for group in plan.groups:
        total += len(group.cases)
        if left := list(_left(group, plan.ways, results)):
            progress(done, total, f"opening {group.task}")
            try:
                with group.open() as world:
                    for case, due in left:
                        for way in due:
                            results.add(_result(way, group.task, case, way.measure(world, case)))
                        done += 1
                        progress(done, total, group.task)
            except TimeUp:
                return total
        done = total
    return total


def _left(
    group: Group[Any, Any], ways: Sequence[Way[Any, Any]], results: Results
) -> Iterator[tuple[Case, list[Way[Any, Any]]]]:
    """Each case with the policies that it has not been put to yet."""
    for case in group.cases:
        if due := [way for way in ways if (way.name, group.task, case.id) not in results]:
            yield case, due


def _result(way: Way[Any, Any], task: str, case: Case, measured: Measured) -> QuestionResult:
    return QuestionResult(
        way.name, task, case.id, case.category, measured.metrics, measured.details
    )


def chosen(
    groups: Callable[[], Iterable[tuple[str, Sequence[AnyCase]]]],
    *,
    limit: int | None,
    sample: int | None,
    seed: int,
) -> Iterator[tuple[str, Sequence[AnyCase]]]:
    """The cases of each group: the first ``limit``, or ``sample`` drawn from all.

    The draw goes by a digest of each case, so a larger sample holds each smaller one, and a run can
    be extended. Groups without a case are left out.
    """
    last = None
    if sample is not None:
        drawn = {_draw(case, seed) for _, cases in groups() for case in cases}
        last = max(nsmallest(sample, drawn), default=b"")
    room = limit
    for task, cases in groups():
        kept = [case for case in cases if last is None or _draw(case, seed) <= last][:room]
        if kept:
            yield task, kept
        if room is not None:
            room -= len(kept)
            if room <= 0:
                return


def _draw(case: Case, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{case.id}\0{case.text}".encode()).digest()


Named = TypeVar("Named")


def named_among(
    names: Iterable[str], ways: Mapping[str, Named], default: Iterable[str]
) -> list[Named]:
    """The policies of these names, or of ``default`` if none is named. Raise InputError."""
    wanted = list(dict.fromkeys(names)) or list(default)
    if "all" in wanted:
        wanted = list(ways)
    if strange := [name for name in wanted if name not in ways]:
        raise InputError(f"no policy {strange[0]!r} here; there are all, {', '.join(ways)}")
    return [ways[name] for name in wanted]
