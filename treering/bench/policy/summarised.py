"""Policies that draw on the memory's tree of summaries (MemTree)."""

from __future__ import annotations

from collections.abc import Sequence

from treering.bench.metrics.evidence import RetrievedPassage
from treering.bench.policy.contract import RetrievalPolicy
from treering.bench.policy.searching import search_policy
from treering.bench.space import TaskSpace
from treering.bench.task import TaskQuestion


def _mixed(space: TaskSpace, question: TaskQuestion, budget: int) -> Sequence[RetrievedPassage]:
    return [space.context(question, budget, altitude="mixed")]


SUMMARISED = (
    search_policy("tree", level="all"),
    RetrievalPolicy("tree-mixed", fill=_mixed),
    search_policy("tree-collapsed", level="all", mode="dense", relations=()),  # the paper's
)
