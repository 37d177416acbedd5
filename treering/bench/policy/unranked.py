"""Baselines that never look at the question."""

from __future__ import annotations

from collections.abc import Sequence

from treering.bench.metrics.evidence import RetrievedPassage
from treering.bench.policy.contract import RetrievalPolicy
from treering.bench.space import TaskSpace
from treering.bench.task import TaskQuestion


def _whole(space: TaskSpace, _: TaskQuestion) -> Sequence[RetrievedPassage]:
    return space.pieces


def _cut_in_the_middle(space: TaskSpace, _: TaskQuestion) -> Sequence[RetrievedPassage]:
    """From both ends inwards, so that what a budget leaves out is the middle (LongBench)."""
    pieces = space.pieces
    inwards = (place // 2 if place % 2 == 0 else -1 - place // 2 for place in range(len(pieces)))
    return [pieces[place] for place in inwards]


def _sliding_window(space: TaskSpace, _: TaskQuestion) -> Sequence[RetrievedPassage]:
    return space.pieces[::-1]


UNRANKED = (
    RetrievalPolicy("whole", _whole, ranked=False),
    RetrievalPolicy("middle-cut", _cut_in_the_middle, ranked=False),
    RetrievalPolicy("window", _sliding_window, ranked=False),
)
