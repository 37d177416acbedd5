"""Policies that draw on the memory's tree of summaries (MemTree)."""

from __future__ import annotations

from collections.abc import Sequence

from treering.bench.metrics.evidence import Passage
from treering.bench.policy.contract import Policy
from treering.bench.policy.searching import search_policy
from treering.bench.space import Space
from treering.bench.task import Question


def _mixed(space: Space, question: Question, budget: int) -> Sequence[Passage]:
    return [space.context(question, budget, altitude="mixed")]


SUMMARISED = (
    search_policy("tree", level="all"),
    Policy("tree-mixed", fill=_mixed),
    search_policy("tree-collapsed", level="all", mode="dense", relations=()),  # the paper's
)
