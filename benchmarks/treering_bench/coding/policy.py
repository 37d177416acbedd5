"""Ways to find code: scorers with and without the code relation, and the map alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from treering.arrays import Floats
from treering.errors import UnknownName
from treering.llm.tokens import estimate_tokens
from treering.records import MODES, Mode
from treering.views.choices import Unit
from treering.views.code.index.code_index import ALPHA, CodeIndex, CodePlace
from treering.views.code.index.map import repository_map
from treering_bench.coding.rounds import held_by_round
from treering_bench.coding.task import CodeTask
from treering_bench.metrics.evidence import RANKS

MAP_BUDGETS = (1000, 4000)
ALL = "all"


Measure = Callable[[CodeIndex, CodeTask, Floats | None], dict[str, float]]
"""The metrics of one task, given its query's vector if the policy asked for one."""


@dataclass(frozen=True, slots=True)
class CodePolicy:
    """A named way to find code; ``embeds`` if fragments and queries need vectors.

    ``unit`` is how files are cut: treering's blocks or FragRel's windows. ``rounds`` if only tasks
    that are dialogues can be measured.
    """

    name: str
    measure: Measure = field(repr=False)
    embeds: bool = False
    unit: Unit = "blocks"
    rounds: bool = False

    def suits(self, task: CodeTask) -> bool:
        """Whether a task can be measured."""
        return bool(task.instructions) or not self.rounds


def _search(
    mode: Mode, alpha: float, near: bool, index: CodeIndex, task: CodeTask, vector: Floats | None
) -> dict[str, float]:
    place = CodePlace(task.path, task.line) if near else None
    hits = index.search(task.query, k=max(RANKS), mode=mode, vector=vector, alpha=alpha, near=place)
    recalls = {f"recall@{k}": task.target.found(hits[:k]) for k in RANKS}
    tokens = estimate_tokens("\n".join(hit.text for hit in hits))
    return recalls | {f"tokens@{max(RANKS)}": float(tokens)}


def _map(
    budget: int, focused: bool, index: CodeIndex, task: CodeTask, _: Floats | None
) -> dict[str, float]:
    drawn = repository_map(index, budget, {task.path: 1.0} if focused else None)
    named = task.target.named(drawn)
    return {"recall@all": named, "tokens@all": float(estimate_tokens(drawn))}


def _held(selects: bool, index: CodeIndex, task: CodeTask, _: Floats | None) -> dict[str, float]:
    return held_by_round(index, task, selects=selects)


def _searching(mode: Mode, unit: Unit) -> list[CodePolicy]:
    name = mode if unit == "blocks" else f"{unit}:{mode}"
    ways = {"": (0.0, False), "+relation": (ALPHA, False), "+relation+near": (ALPHA, True)}
    return [
        CodePolicy(f"{name}{way}", partial(_search, mode, *how), mode != "lexical", unit)
        for way, how in ways.items()
    ]


def _policies() -> Mapping[str, CodePolicy]:
    modes = sorted(MODES, key=("lexical", "dense", "hybrid").index)
    units: tuple[Unit, ...] = ("blocks", "windows")
    searching = [policy for unit in units for mode in modes for policy in _searching(mode, unit)]
    maps = [CodePolicy(f"map@{b}", partial(_map, b, False)) for b in MAP_BUDGETS]
    maps += [CodePolicy(f"map@{b}+focus", partial(_map, b, True)) for b in MAP_BUDGETS]
    held = [
        CodePolicy("rounds", partial(_held, True), rounds=True),
        CodePolicy("rounds+all", partial(_held, False), rounds=True),
    ]
    return {policy.name: policy for policy in (*searching, *maps, *held)}


def code_policies(names: Sequence[str]) -> list[CodePolicy]:
    """The policies called ``names``; ``all`` stands for all of them. Raises UnknownName."""
    policies = _policies()
    chosen: dict[str, CodePolicy] = {}
    for name in names:
        if name == ALL:
            chosen |= policies
        elif name in policies:
            chosen[name] = policies[name]
        else:
            there = ", ".join([ALL, *policies])
            raise UnknownName(f"no policy {name!r} for a code benchmark; there are {there}")
    return list(chosen.values())
