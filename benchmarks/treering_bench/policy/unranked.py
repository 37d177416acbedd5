"""Baselines that never look at the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from treering_bench.metrics.evidence import RetrievedPassage, within_budget
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.space import CountTokens, TaskSpace
from treering_bench.task import TaskQuestion

Side = Literal["beginning", "end", "both"]
"""Which part of a piece is left where only a part fits."""

_WORD = re.compile(r"\S+\s*")


def _whole(space: TaskSpace, _: TaskQuestion) -> Sequence[RetrievedPassage]:
    return space.pieces


def _cut_in_the_middle(space: TaskSpace, _: TaskQuestion) -> Sequence[RetrievedPassage]:
    """From both ends inwards, so that what a budget leaves out is the middle (LongBench)."""
    pieces = space.pieces
    inwards = (place // 2 if place % 2 == 0 else -1 - place // 2 for place in range(len(pieces)))
    return [pieces[place] for place in inwards]


def _sliding_window(space: TaskSpace, _: TaskQuestion) -> Sequence[RetrievedPassage]:
    return space.pieces[::-1]


def _fill_whole(space: TaskSpace, question: TaskQuestion, budget: int) -> list[RetrievedPassage]:
    pieces = _whole(space, question)
    fitting = within_budget(pieces, budget)
    return with_a_part(fitting, pieces, budget, "beginning", space.count)


def _fill_window(space: TaskSpace, question: TaskQuestion, budget: int) -> list[RetrievedPassage]:
    pieces = _sliding_window(space, question)
    return with_a_part(within_budget(pieces, budget), pieces, budget, "end", space.count)


def _fill_from_both_ends(
    space: TaskSpace, question: TaskQuestion, budget: int
) -> list[RetrievedPassage]:
    pieces = _cut_in_the_middle(space, question)
    fitting = within_budget(pieces, budget)
    at_the_end = len(fitting) % 2 == 1
    last = len(fitting) == len(pieces) - 1  # one piece is between both ends, as in a story
    side: Side = "both" if last else "end" if at_the_end else "beginning"
    return with_a_part(fitting, pieces, budget, side, space.count)


def with_a_part(
    fitting: list[RetrievedPassage],
    pieces: Sequence[RetrievedPassage],
    budget: int,
    side: Side,
    count: CountTokens,
) -> list[RetrievedPassage]:
    """The pieces that fit, and as much of the next one as does.

    A part covers no unit: it may lack what makes the piece evidence.
    """
    if len(fitting) == len(pieces):
        return fitting
    following = pieces[len(fitting)]
    room = budget - sum(passage.tokens for passage in fitting)
    text = _cut(following.text, room, side, count)
    if not text:
        return fitting
    return [*fitting, RetrievedPassage((), count(text), text, following.place)]


def _cut(text: str, room: int, side: Side, count: CountTokens) -> str:
    """As many whole words of one end of ``text``, or of both, as have ``room`` tokens."""
    words = _WORD.findall(text)
    fewest, most = 0, len(words)
    while fewest < most:  # the largest number of words that fits: more words have more tokens
        middle = (fewest + most + 1) // 2
        if count(_part(words, middle, side)) <= room:
            fewest = middle
        else:
            most = middle - 1
    return _part(words, fewest, side)


def _part(words: Sequence[str], size: int, side: Side) -> str:
    if size == len(words) or side == "beginning":
        return "".join(words[:size]).strip()
    if side == "end":
        return "".join(words[len(words) - size :]).strip()
    head = "".join(words[: (size + 1) // 2]).strip()
    tail = "".join(words[len(words) - size // 2 :]).strip()
    return f"{head}\n…\n{tail}" if tail else head


UNRANKED = (
    RetrievalPolicy("whole", _whole, fill=_fill_whole, ranked=False),
    RetrievalPolicy("middle-cut", _cut_in_the_middle, fill=_fill_from_both_ends, ranked=False),
    RetrievalPolicy("window", _sliding_window, fill=_fill_window, ranked=False),
)
