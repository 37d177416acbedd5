"""Baselines that never look at the question."""

from __future__ import annotations

from collections.abc import Sequence

from treering.bench.metrics.evidence import Passage
from treering.bench.policy.contract import Policy
from treering.bench.space import Space
from treering.bench.task import Question


def _whole(space: Space, _: Question) -> Sequence[Passage]:
    return space.pieces


def _cut_in_the_middle(space: Space, _: Question) -> Sequence[Passage]:
    """From both ends inwards, so that what a budget leaves out is the middle (LongBench)."""
    pieces = space.pieces
    inwards = (place // 2 if place % 2 == 0 else -1 - place // 2 for place in range(len(pieces)))
    return [pieces[place] for place in inwards]


def _sliding_window(space: Space, _: Question) -> Sequence[Passage]:
    return space.pieces[::-1]


UNRANKED = (
    Policy("whole", _whole, ranked=False),
    Policy("middle-cut", _cut_in_the_middle, ranked=False),
    Policy("window", _sliding_window, ranked=False),
)
