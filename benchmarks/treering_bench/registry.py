"""Benchmarks by name. A benchmark is one file in ``suites`` with one registration."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from treering.errors import InputError, UnknownName
from treering_bench.coding.task import CodeTask, OmittedTask
from treering_bench.task import Task


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where a benchmark's files come from; ``unseen`` if the loader has met no real file yet."""

    url: str
    licence: str
    files: str
    unseen: bool = False


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A data set of texts with questions, its loader, and how answers are asked for and scored.

    ``prompt`` names an answer prompt of :mod:`treering_bench.prompts`, ``headline`` the evidence
    metric that tables lead with. Tables have a second row without the questions of the category
    ``apart``. Where no evidence is ``marked``, the words of the answers are looked for in what is
    shown. ``plan`` is the module that plans a run, ``answer_plan`` that of a run with a model.
    """

    name: str
    title: str
    load: Callable[[Path], Iterator[Task]]
    data: DataSource
    prompt: str = "search-results"
    headline: str = "recall@10"
    apart: str = ""
    marked: bool = True
    plan: str = "treering_bench.questions"
    answer_plan: str = "treering_bench.questions"


@dataclass(frozen=True, slots=True)
class CodeBenchmark:
    """Code to be written in repositories, measured by what of a repository is found for it.

    ``load`` reads the tasks, given the folder of the projects' sources too. With a model the code
    is written.
    """

    name: str
    title: str
    load: Callable[[Path, Path], Iterator[CodeTask | OmittedTask]]
    data: DataSource
    headline: str = "recall@10"
    apart: str = ""
    plan: str = "treering_bench.coding.retrieval"
    answer_plan: str = "treering_bench.coding.completion"


AnyBenchmark = Benchmark | CodeBenchmark
_REGISTERED: dict[str, AnyBenchmark] = {}


def register(benchmark: AnyBenchmark) -> AnyBenchmark:
    """Make ``benchmark`` known under its name, and return it."""
    if benchmark.name in _REGISTERED:
        raise InputError(f"a benchmark named {benchmark.name!r} is already registered")
    _REGISTERED[benchmark.name] = benchmark
    return benchmark


def benchmarks() -> dict[str, AnyBenchmark]:
    """Every benchmark, by name, in alphabetical order."""
    _import_suites()
    return dict(sorted(_REGISTERED.items()))


def benchmark(name: str) -> AnyBenchmark:
    """The benchmark called ``name``.

    Raises:
        UnknownName: there is none; the message lists those there are.
    """
    by_name = benchmarks()
    if name not in by_name:
        raise UnknownName(f"no benchmark is called {name!r}; there are: {', '.join(by_name)}")
    return by_name[name]


def with_texts(name: str) -> Benchmark:
    """The benchmark called ``name``, if it has questions about texts. Raise InputError."""
    found = benchmark(name)
    if not isinstance(found, Benchmark):
        raise InputError(f"{name} is a benchmark of code; take one of texts, such as locomo")
    return found


@cache
def _import_suites() -> None:
    from treering_bench import suites

    for module in pkgutil.iter_modules(suites.__path__, f"{suites.__name__}."):
        importlib.import_module(module.name)
