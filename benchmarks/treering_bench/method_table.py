"""One table for the four methods: relations, tree, memos and code memory, each off and on.

The same questions are put to every combination, at equal budgets. In one row stand what was found
and what writing cost: calls and tokens of the model that wrote memos and summaries, and seconds of
processor time. Without a model summaries are extracted, and there are no memos.

*Tree* means that summaries are ranked among the texts, with the relation ``tree``; *memos* the
relation ``topic``; *relations* those that a search has by default. For code, *relations* is
FragRel's relation, and *code memory* CodeMEM's context memory: the blocks whose names the code
before the hole calls or defines are shown first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final

from treering.embed.contract import Embedder
from treering.errors import InputError
from treering.llm.contract import LLM
from treering.llm.settings import NONE
from treering.llm.tokens import estimate_tokens
from treering.memory import Memory
from treering.records import Kind, Level, Spent
from treering.views.code.index.blocks import best_blocks
from treering.views.code.index.code_index import ALPHA, CodeHit, CodeIndex
from treering.views.code.write.context_memory import ContextMemory, NameJudge
from treering_bench.coding.line_tasks import drawn_tasks
from treering_bench.coding.rounds import as_hits
from treering_bench.coding.sources import Projects
from treering_bench.coding.task import CodeTask
from treering_bench.metrics.evidence import reached, recall, within_budget
from treering_bench.policy.searching import search_policy, with_relations
from treering_bench.read import read_as
from treering_bench.registry import Benchmark
from treering_bench.report import table
from treering_bench.run import Progress, drawn
from treering_bench.space import TaskSpace
from treering_bench.task import TaskQuestion

METHODS: Final = ("relations", "tree", "memos", "code memory")
CONTENT: Final[Mapping[Kind, str]] = {"chat": "dialogue", "text": "documents", "code": "code"}
BUDGETS: Final = (500, 1000)

CODE_HITS: Final = 40
"""Fragments that are ranked for a hole: more than fit the larger budget."""

_RELATIONS: Final = {"relations": "default", "tree": "tree", "memos": "topic"}


@dataclass(frozen=True, slots=True)
class WritingCost:
    """What a method's derived texts cost to write, over all that was remembered."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: WritingCost) -> WritingCost:
        return WritingCost(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
        )


_Spending = Mapping[tuple[str, str], Spent]  # by operation and model
Found = tuple[float, float]
"""Of a question: recall of what is shown, and of what that was made of."""


@dataclass(slots=True)
class MethodTable:
    """What was found, by content, methods that are on, and budget; and what writing cost."""

    questions: dict[tuple[Kind, frozenset[str], int], list[Found]] = field(default_factory=dict)
    costs: dict[tuple[Kind, str], WritingCost] = field(default_factory=dict)

    def note(self, kind: Kind, methods: frozenset[str], budget: int, found: Found) -> None:
        """Add a question."""
        self.questions.setdefault((kind, methods, budget), []).append(found)

    def pay(self, kind: Kind, method: str, cost: WritingCost) -> None:
        """Add what writing cost."""
        self.costs[kind, method] = self.costs.get((kind, method), WritingCost()) + cost

    def rows(self) -> list[dict[str, Any]]:
        """One object for each cell: content, methods off and on, budget, what was found, cost."""
        return [
            {
                "content": CONTENT[kind],
                "methods": {name: name in methods for name in methods_of(kind)},
                "budget": budget,
                "questions": len(values),
                "recall": round(fmean(shown for shown, _ in values), 4),
                "reach": round(fmean(led for _, led in values), 4),
                "cost": asdict(self._cost(kind, methods)),
            }
            for (kind, methods, budget), values in self.questions.items()
        ]

    def _cost(self, kind: Kind, methods: frozenset[str]) -> WritingCost:
        paid = (self.costs.get((kind, name), WritingCost()) for name in methods)
        return sum(paid, self.costs.get((kind, ""), WritingCost()))


def methods_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Cells as a table: a row a content and combination, columns by budget, then the cost."""
    budgets = sorted({row["budget"] for row in rows})
    found = [f"{what} {budget:,}" for budget in budgets for what in ("recall", "reach")]
    heads = ["content", "questions", *METHODS, *found, "calls", "tokens", "seconds"]
    lines: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        key = row["content"], json.dumps(row["methods"])
        lines.setdefault(key, {})[row["budget"]] = row
    return table(heads, [_line(by_budget, budgets) for by_budget in lines.values()])


def _line(by_budget: Mapping[int, Mapping[str, Any]], budgets: Sequence[int]) -> list[str]:
    row = by_budget[budgets[0]]
    switches = row["methods"]
    cells = [row["content"], f"{row['questions']:,}"]
    cells += ["" if m not in switches else "on" if switches[m] else "–" for m in METHODS]
    for budget in budgets:
        cells += [f"{100 * by_budget[budget][what]:.1f}" for what in ("recall", "reach")]
    cost = row["cost"]
    tokens = cost["prompt_tokens"] + cost["completion_tokens"]
    return [*cells, f"{cost['calls']:,}", f"{tokens:,}", f"{cost['seconds']:.1f}"]


@dataclass(frozen=True, slots=True)
class TableOptions:
    """At which budgets, over how many questions of a benchmark, drawn by which seed."""

    budgets: tuple[int, ...] = BUDGETS
    limit: int = 100
    seed: int = 0


def methods_of(kind: Kind, *, writes_memos: bool = True) -> tuple[str, ...]:
    """The methods that can be switched for content of a kind."""
    if kind == "code":
        return ("relations", "code memory")
    return ("relations", "tree", "memos") if kind == "chat" and writes_memos else METHODS[:2]


# ------------------------------------------------------------------ dialogue and documents


def measure_texts(
    of: MethodTable,
    chosen: Benchmark,
    data: Path,
    embedder: Embedder,
    llm: LLM | None,
    options: TableOptions,
    progress: Progress,
) -> None:
    """Put drawn questions of a benchmark to every combination. Raises InputError, LLMError."""
    tasks = list(read_as(chosen.name, data, chosen.load(data)))
    counts = drawn(tasks, lambda q: bool(q.evidence), options.limit, options.seed)
    asked = {task.space: [q for q in task.questions if counts(q)] for task in tasks}
    done, total = 0, sum(map(len, asked.values()))
    if not total:
        raise InputError(f"{data} holds no question of {chosen.name} whose evidence is marked")
    for task in tasks:
        if not asked[task.space]:
            continue
        progress(done, total, f"writing {task.space}")
        with (
            TemporaryDirectory(prefix="treering-bench-") as folder,
            Memory.open(Path(folder) / "m.db", embedder=embedder, llm=llm or NONE) as memory,
            TaskSpace(memory, task, embedder) as space,
        ):
            _write(of, memory, space, writes_memos=llm is not None)
            for question in asked[task.space]:
                _ask(of, space, question, options.budgets, writes_memos=llm is not None)
                done += 1
                progress(done, total, task.space)


def _write(of: MethodTable, memory: Memory, space: TaskSpace, *, writes_memos: bool) -> None:
    """Remember a task, and let each method write what it needs."""
    steps: dict[str, Callable[[], object]] = {"": space.remember, "tree": memory.tree.settle}
    if "memos" in methods_of(space.kind, writes_memos=writes_memos):
        steps["memos"] = memory.memos.settle
    before: _Spending = {}
    for name, step in steps.items():
        begun = process_time()
        step()
        seconds = process_time() - begun
        spent = {(cost.operation, cost.model): cost for cost in memory.stats().spent}
        of.pay(space.kind, name, _since(before, spent, seconds))
        before = spent


def _since(before: _Spending, now: _Spending, seconds: float) -> WritingCost:
    cost = WritingCost(seconds=seconds)
    for name, spent in now.items():
        old = before.get(name)
        cost += WritingCost(
            spent.calls - (old.calls if old else 0),
            spent.prompt_tokens - (old.prompt_tokens if old else 0),
            spent.completion_tokens - (old.completion_tokens if old else 0),
        )
    return cost


def _ask(
    of: MethodTable,
    space: TaskSpace,
    question: TaskQuestion,
    budgets: Sequence[int],
    *,
    writes_memos: bool,
) -> None:
    for on in _combinations(methods_of(space.kind, writes_memos=writes_memos)):
        level: Level = "all" if "tree" in on else "texts"
        names = [_RELATIONS[name] for name in METHODS if name in on]
        if names:
            policy = with_relations("with:" + "+".join(names), level=level)
        else:
            policy = search_policy("own", relations=())
        assert policy.pick is not None  # both have one
        picked = policy.pick(space, question)
        for budget in budgets:
            filled = within_budget(picked, budget)
            shown = [unit for passage in filled for unit in passage.units]
            found = recall(shown, question.evidence), recall(reached(filled), question.evidence)
            of.note(space.kind, on, budget, found)


def _combinations(methods: Sequence[str]) -> Iterator[frozenset[str]]:
    for switches in product((False, True), repeat=len(methods)):
        yield frozenset(name for name, on in zip(methods, switches, strict=True) if on)


# ------------------------------------------------------------------ code


def measure_code(of: MethodTable, sources: Path, options: TableOptions, progress: Progress) -> None:
    """Calls cut out of repositories: which of their names stand in what is shown. No model."""
    tasks = drawn_tasks(sources, "api", options.limit, options.seed)
    projects = Projects(sources, "blocks", None)
    begun = process_time()
    for done, (task, prefix, _) in enumerate(tasks, 1):
        with projects.with_hole(task) as index:
            begun = _indexed(of, begun)
            for on in _combinations(methods_of("code")):
                hits = _hits(index, task, prefix, on)
                for budget in options.budgets:
                    share = task.target.found(_fitting(hits, budget))
                    of.note("code", on, budget, (share, share))
        begun = process_time()
        progress(done, len(tasks), task.project)


def _indexed(of: MethodTable, begun: float) -> float:
    of.pay("code", "", WritingCost(seconds=process_time() - begun))
    return begun


def _hits(index: CodeIndex, task: CodeTask, prefix: str, on: frozenset[str]) -> list[CodeHit]:
    alpha = ALPHA if "relations" in on else 0.0
    hits = index.search(task.query, k=CODE_HITS, mode="lexical", alpha=alpha)
    return [*_held(index, task, prefix), *hits] if "code memory" in on else hits


def _held(index: CodeIndex, task: CodeTask, prefix: str) -> list[CodeHit]:
    """The blocks that the selector keeps after the code before the hole (CodeMEM, eq. 2 and 5)."""
    names = {definition.name for _, definition in index.definitions()}
    memory = ContextMemory(
        lambda query, k: best_blocks(index, query, k), NameJudge(names.__contains__)
    )
    memory.begin(task.query)
    memory.end(prefix, "python")
    return as_hits(memory.blocks)


def _fitting(hits: Sequence[CodeHit], budget: int) -> list[CodeHit]:
    """The first fragments that fit the budget together, each place once."""
    fitting: dict[tuple[str, int, int], CodeHit] = {}
    for hit in hits:
        place = hit.path, hit.first_line, hit.last_line
        cost = estimate_tokens(hit.text)
        if place not in fitting and cost <= budget:
            fitting[place] = hit
            budget -= cost
    return list(fitting.values())


def json_lines_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """The cells, one object a line."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
