"""Relations by membership: items of a session, a speaker or a value of metadata support each
other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treering.arrays import Codes, Floats, for_each_piece
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


@dataclass(frozen=True, slots=True)
class Same:
    """Items with the same value of a ``key`` of metadata are equally related to each other."""

    key: str = ""
    name: str = "same"

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not self.key:
            raise ValueError("its key is a key of metadata, such as key=ticket")

    def bind(self, items: Items) -> Operator:
        """Groups by value; nothing where no metadata is stored."""
        if items.stored is None:
            return NullOperator(len(items))
        return GroupOperator(items.stored.values(self.key))


@dataclass(frozen=True, slots=True)
class Agents:
    """Items of one session by different speakers, such as agents on one task, are related."""

    name: str = "agents"

    def bind(self, items: Items) -> Operator:
        """Groups by session, without the groups of each speaker in them."""
        return OthersOperator(items.session, items.speaker)


class OthersOperator:
    """W[i, j] = 1 where the groups of i and j are equal and their members are not, else 0.

    An item that lacks a group or a member is related to nothing.
    """

    def __init__(self, groups: Labels, members: Labels) -> None:
        known = (groups != MISSING) & (members != MISSING)
        groups = np.where(known, groups, MISSING).astype(np.int64)
        both = groups * (int(members.max(initial=0)) + 1) + members
        self._groups = GroupOperator(groups)
        self._members = GroupOperator(np.where(known, both, MISSING))

    def propagate(self, scores: Floats) -> Floats:
        """Return ``W·scores``: the sum of a group without that of a member, in its shape."""
        return self._groups.propagate(scores) - self._members.propagate(scores)

    def mass(self) -> Floats:
        """Return ``W·1``: how many items of each item's group are of other members."""
        return self._groups.mass() - self._members.mass()


@dataclass(frozen=True, slots=True)
class Citation:
    """An item that names another source is related to all items of that source."""

    name: str = "cites"

    def bind(self, items: Items) -> Operator:
        """Pairs of a citing item and an item of the cited source, in both directions."""
        if items.stored is None:
            return NullOperator(len(items))
        return CitationOperator(items.document, *items.stored.citations())


class CitationOperator:
    """W[i, j] = 1 where item i cites the document of j, or j that of i, else 0."""

    def __init__(self, document: Labels, citing: Codes, cited: Codes) -> None:
        size = len(document)
        labels, self._of = np.unique(document, return_inverse=True)
        pairs = np.unique(np.stack([citing, cited]), axis=1)
        place = np.minimum(labels.searchsorted(pairs[1]), max(len(labels) - 1, 0))
        there = (pairs[1] != MISSING) & (document[pairs[0]] != pairs[1])
        there[there] &= labels[place[there]] == pairs[1][there]
        self._citing, self._cited = pairs[0][there], place[there]
        self._size, self._documents = size, len(labels)

    def propagate(self, scores: Floats) -> Floats:
        """Return ``W·scores`` for scores of shape (N,) or (N, Q)."""
        return by_column(self._propagate_column, scores)

    def mass(self) -> Floats:
        """Return ``W·1``: how many items each item cites or is cited by."""
        return self._propagate_column(np.ones(self._size, dtype=np.float32))

    def _propagate_column(self, scores: Floats) -> Floats:
        of_documents = np.bincount(self._of, weights=scores, minlength=self._documents)
        heard = np.bincount(self._citing, weights=of_documents[self._cited], minlength=self._size)
        said = np.bincount(self._cited, weights=scores[self._citing], minlength=self._documents)
        result: Floats = (heard + said[self._of]).astype(np.float32)
        return result
