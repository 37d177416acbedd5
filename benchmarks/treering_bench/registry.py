"""Benchmarks by name, from ``suites/benchmarks.toml``; a loader is one function in ``suites``."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from treering.errors import InputError, UnknownName
from treering_bench.coding.task import CodeTask, OmittedTask
from treering_bench.task import Task

FILE: Final = Path(__file__).parent / "suites" / "benchmarks.toml"


@dataclass(frozen=True, slots=True)
class _Described:
    """A data set: where it comes from, how it is read, and which module plans a run."""

    name: str
    title: str
    load: Callable[..., Iterator[Any]]
    url: str = ""
    licence: str = ""
    files: str = ""
    unseen: bool = False
    headline: str = "recall@10"
    apart: str = ""
    plan: str = ""
    answer_plan: str = ""


@dataclass(frozen=True, slots=True)
class Benchmark(_Described):
    """A data set of texts with questions, and how answers are asked for."""

    load: Callable[[Path], Iterator[Task]]
    prompt: str = "search-results"
    marked: bool = True
    plan: str = "treering_bench.questions"
    answer_plan: str = "treering_bench.questions"


@dataclass(frozen=True, slots=True)
class CodeBenchmark(_Described):
    """Code to be written in repositories, measured by the fragments that are found for it.

    ``load`` reads the tasks, given the folder of the projects' sources too. With a model the code
    is written.
    """

    load: Callable[[Path, Path], Iterator[CodeTask | OmittedTask]]
    plan: str = "treering_bench.coding.retrieval"
    answer_plan: str = "treering_bench.coding.completion"


AnyBenchmark = Benchmark | CodeBenchmark


@cache
def benchmarks() -> Mapping[str, AnyBenchmark]:
    """Every benchmark, by name, in alphabetical order."""
    rows = tomllib.loads(FILE.read_text("utf-8"))
    return {name: _described(name, row) for name, row in sorted(rows.items())}


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


def _described(name: str, row: dict[str, Any]) -> AnyBenchmark:
    module, _, function = row.pop("load").partition(":")

    def load(*paths: Path) -> Iterator[Any]:
        suite = importlib.import_module(f"treering_bench.suites.{module}")
        loaded: Iterator[Any] = getattr(suite, function)(*paths)
        return loaded

    kind = CodeBenchmark if row.pop("code", False) else Benchmark
    return kind(name=name, load=load, **row)
