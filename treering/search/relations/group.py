"""Relations by membership: items of a session, a message or a speaker support each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treering.arrays import Floats
from treering.parallel import for_each_piece
from treering.search.relations.contract import (
    MISSING,
    Items,
    Labels,
    NullOperator,
    Operator,
    RowChange,
    by_column,
)

SPARSE = 4  # codes up to so many times the number of items are counted without numbering them

MEAN_PIECES = 1.5
"""Pieces a message from which a chat has long replies. Turns of people have 1.0, chats with an
assistant that explains 3."""


class GroupOperator:
    """W[i, j] = 1 where the codes of i and j are equal and not MISSING, else 0."""

    def __init__(self, codes: Labels) -> None:
        labels = np.asarray(codes) - MISSING
        if len(labels) and (labels.min() < 0 or labels.max() > SPARSE * len(labels) + SPARSE):
            _, labels = np.unique(codes, return_inverse=True)
        self._labels = labels
        self._member = (codes != MISSING).astype(np.float32)
        self._groups = int(labels.max(initial=-1)) + 1

    def propagate(self, scores: Floats) -> Floats:
        """Return ``W·scores``: each item gets the sum of its group, shape (N,) or (N, Q)."""
        return by_column(self._propagate_column, scores)

    def mass(self) -> Floats:
        """Return ``W·1``: the size of each item's group."""
        return self._propagate_column(np.ones(len(self._labels), dtype=np.float32))

    def _propagate_column(self, scores: Floats) -> Floats:
        # Items without a group share a label, too, and are masked out.
        sums = np.bincount(self._labels, weights=scores, minlength=self._groups)
        result: Floats = sums.astype(np.float32)[self._labels] * self._member
        return result


class MessageOperator(GroupOperator):
    """As ``GroupOperator``, of messages that are cut into so many ``pieces`` on average."""

    def __init__(self, codes: Labels, pieces: float) -> None:
        super().__init__(codes)
        self.pieces = pieces


@dataclass(frozen=True, slots=True)
class Session:
    """Items of one session are equally related to each other: env is the session's mean."""

    name: str = "session"

    def bind(self, items: Items) -> Operator:
        """Groups by session."""
        return GroupOperator(items.session)


@dataclass(frozen=True, slots=True)
class WholeMessage:
    """Pieces of one message are equally related to each other: env is the message's mean.

    Some piece of a long reply fits any question; the mean tells what the reply is about. If
    messages are hardly ever cut, this relates nothing: each item would only support itself.
    """

    name: str = "message"

    def bind(self, items: Items) -> Operator:
        """Return groups by message, if messages have ``MEAN_PIECES`` or more on average."""
        if items.message is None:
            return NullOperator(len(items))
        pieces, messages = _counts(items.message)
        mean = pieces / max(messages, 1)
        if mean < MEAN_PIECES:
            return UncutOperator(len(items), pieces, messages)
        return MessageOperator(items.message, mean)

    def rebind(self, before: Operator, items: Items, change: RowChange) -> Operator | None:
        """See ``Relation``: a few rows do not change whether messages are long."""
        if items.message is None or not isinstance(before, UncutOperator):
            return None
        most, fewest = before.most_pieces + change.added, before.fewest - len(change.gone)
        if most >= MEAN_PIECES * fewest:
            return None  # it may be long now
        return UncutOperator(len(items), most, fewest)


@dataclass(frozen=True, slots=True)
class UncutOperator(NullOperator):
    """Relates nothing: at most ``most_pieces`` pieces of at least ``fewest`` messages."""

    most_pieces: int
    fewest: int


def _counts(message: Labels) -> tuple[int, int]:
    """Return how many pieces messages have together, and how many messages there are."""
    counts: list[tuple[int, int]] = []

    def count(rows: slice) -> None:
        codes = message[rows]
        # The pieces of a message came one after the other: codes need not be sorted to be counted.
        before = message[max(rows.start - 1, 0) : rows.stop - 1]
        is_piece = codes != MISSING
        is_first, later = is_piece.copy(), len(codes) - len(before)
        is_first[later:] &= codes[later:] != before
        counts.append((int(np.count_nonzero(is_piece)), int(np.count_nonzero(is_first))))

    for_each_piece(count, len(message))
    pieces, messages = map(sum, zip(*counts, strict=True)) if counts else (0, 0)
    return pieces, messages


@dataclass(frozen=True, slots=True)
class Speaker:
    """Items by one speaker are equally related to each other: env is the speaker's mean."""

    name: str = "speaker"

    def bind(self, items: Items) -> Operator:
        """Groups by speaker."""
        return GroupOperator(items.speaker)
