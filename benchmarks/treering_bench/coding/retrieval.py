"""Code that is found for a function to be written: scorers, relations, maps, context memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import fmean

from treering.embed.registry import open_embedder
from treering.errors import InputError
from treering.llm.tokens import estimate_tokens
from treering.records import MODES, Mode, Why
from treering.views.choices import Unit
from treering.views.code.index.blocks import CodeBlock, best_blocks
from treering.views.code.index.code_index import ALPHA, CodeHit
from treering.views.code.index.map import repository_map
from treering.views.code.write.context_memory import ContextMemory, name_judge
from treering_bench.coding.sources import Hole, Projects
from treering_bench.coding.task import CodeTask, OmittedTask
from treering_bench.embedding import VectorCache
from treering_bench.metrics.evidence import RANKS
from treering_bench.options import RunOptions
from treering_bench.read import read_as, sha256_of
from treering_bench.registry import CodeBenchmark
from treering_bench.runner import Group, Measured, Plan, Way, chosen, named_among

DOCUMENTS = 5
"""What ADD looks up (CodeMEM, 4.2)."""

MAP_BUDGETS = (1000, 4000)
SOURCES = "sources"  # the folder beside a code benchmark's tasks, where none is named

CodeWay = Way[Hole, CodeTask]


DOCUMENTS = 5
"""What ADD looks up (CodeMEM, 4.2)."""


def plan(
    benchmark: CodeBenchmark, options: RunOptions, _opened: ExitStack, _replies: Path
) -> Plan[Hole, CodeTask]:
    """The plan of a run without a model."""
    options.refuse_all_but(f"{benchmark.name} without --llm", {"sources", "embedder"})
    ways = named_among(options.policy or (), code_ways(), default=code_ways())
    tasks, left_out = read_tasks(benchmark, options)
    sources = sources_of(options)
    # Most fragments of a file with a hole are those of the whole file, and of other tasks.
    model = VectorCache(open_embedder(options.embedder), texts=True)
    embeds = any("dense" in way.name or "hybrid" in way.name for way in ways)
    projects = Projects(sources, model if embeds else None)
    return Plan(
        "retrieval",
        ways,
        task_groups(tasks, options, projects),
        "to be run",
        {"embedder": model.name, "sources": sha256_of(sources)},
        about={"tasks": len(tasks), "left_out": left_out},
    )


def sources_of(options: RunOptions) -> Path:
    """The folder of the projects: a folder beside the tasks, or that from which they are drawn."""
    data = options.data
    beside = (data if data.is_dir() else data.parent) / SOURCES
    return options.sources or (data if data.is_dir() and not beside.is_dir() else beside)


def read_tasks(benchmark: CodeBenchmark, options: RunOptions) -> tuple[list[CodeTask], int]:
    """The tasks that have their sources, and how many have not. Raise InputError if none has."""
    sources = sources_of(options)
    read = list(read_as(benchmark.name, options.data, benchmark.load(options.data, sources)))
    tasks = [task for task in read if isinstance(task, CodeTask)]
    if not tasks:
        omitted = (task.reason for task in read if isinstance(task, OmittedTask))
        reasons = Counter(omitted).most_common(3)
        why = "; ".join(f"{reason} ({n})" for reason, n in reasons) or "it holds none"
        raise InputError(f"{options.data} holds no task that can be run with {sources}: {why}")
    return tasks, len(read) - len(tasks)


def task_groups(
    tasks: Sequence[CodeTask], options: RunOptions, projects: Projects
) -> Iterator[Group[Hole, CodeTask]]:
    """A group for each task, which has a hole of its own."""

    def by_project() -> Iterator[tuple[str, Sequence[CodeTask]]]:
        for project, some in groupby(tasks, lambda task: task.project):
            yield project, list(some)

    for project, some in chosen(
        by_project, limit=options.limit, sample=options.sample, seed=options.seed
    ):
        for task in some:
            yield Group(project, [task], partial(projects.hole, task))


def code_ways() -> dict[str, CodeWay]:
    """All policies by name: ways to search blocks and windows, maps, and context memory."""
    modes = sorted(MODES, key=("lexical", "dense", "hybrid").index)
    units: tuple[Unit, ...] = ("blocks", "windows")
    ways = [way for unit in units for mode in modes for way in _searching(mode, unit)]
    ways += [Way(f"map@{budget}", partial(_map, budget)) for budget in MAP_BUDGETS]
    ways.append(Way("rounds", partial(held_by_round, selects=True)))
    ways.append(Way("rounds+all", partial(held_by_round, selects=False)))
    return {way.name: way for way in ways}


def _searching(mode: Mode, unit: Unit) -> Iterator[CodeWay]:
    name = mode if unit == "blocks" else f"{unit}:{mode}"
    ways = {"": (0.0, False), "+relation": (ALPHA, False), "+relation+near": (ALPHA, True)}
    for way, how in ways.items():
        yield Way(f"{name}{way}", partial(_search, mode, unit, *how))


def _search(
    mode: Mode, unit: Unit, alpha: float, near: bool, hole: Hole, task: CodeTask
) -> Measured:
    place = f"{task.path}:{task.line}" if near else None
    vector = None if mode == "lexical" else hole.vector(task.query)
    hits = hole.index(unit).search(
        task.query, k=max(RANKS), mode=mode, vector=vector, alpha=alpha, near=place
    )
    recalls = {f"recall@{k}": task.target.found(hits[:k]) for k in RANKS}
    tokens = estimate_tokens("\n".join(hit.text for hit in hits))
    return Measured(recalls | {f"tokens@{max(RANKS)}": float(tokens)})


def _map(budget: int, hole: Hole, task: CodeTask) -> Measured:
    drawn = repository_map(hole.index("blocks"), budget)
    named = task.target.named(drawn)
    return Measured({"recall@all": named, "tokens@all": float(estimate_tokens(drawn))})


def held_by_round(hole: Hole, task: CodeTask, *, selects: bool) -> Measured:
    """Recall and precision of the blocks at hand in every round, and their means over rounds.

    No model is asked: the code that a round ends with is the true one, so that judge, retrieval and
    selector are measured, and not a model that might forget to call what it was shown (CodeMEM,
    figure 3). Without ``selects`` nothing is ever dropped: what the paper compares its selector
    with. A task that is no dialogue has no figures.
    """
    index = hole.index("blocks")
    names = {definition.name for _, definition in index.definitions()}
    context = ContextMemory(
        lambda query: best_blocks(index, query, DOCUMENTS), name_judge(names.__contains__)
    )
    figures: dict[str, dict[int, float]] = {"context recall": {}, "context precision": {}}
    for number, instruction in enumerate(task.instructions, 1):
        context.begin(instruction)
        hits = as_hits(context.blocks)
        figures["context recall"][number] = task.target.found(hits)
        figures["context precision"][number] = task.target.precision(hits)
        if selects:
            context.end(task.code, "python")
    return Measured(with_rounds(figures))


def with_rounds(figures: Mapping[str, Mapping[int, float]]) -> dict[str, float]:
    """The mean of each figure over the rounds that have it, and its value in each."""
    means = {name: fmean(values.values()) for name, values in figures.items() if values}
    by_round = {
        f"{name}, round {number}": value
        for name, values in figures.items()
        for number, value in values.items()
    }
    return means | by_round


def as_hits(blocks: Sequence[CodeBlock]) -> list[CodeHit]:
    """Blocks as hits, so that both are compared alike."""
    return [
        CodeHit(
            *(0.0, block.path, block.first_line, block.last_line),
            *(block.qualified, block.value, Why({})),
        )
        for block in blocks
    ]
