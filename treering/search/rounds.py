"""Ranks rounds of chats: a user's message with the replies to it (FragRel, B.3).

No round is stored: rounds are put together from the fragments of a snapshot. So each message is
durable and found before its reply comes, and an erased one is in no round.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from treering.arrays import Codes, Floats
from treering.embed.contract import unit_rows
from treering.journal import entries
from treering.journal.space import SpaceReader
from treering.records import KINDS, Why
from treering.search.pipeline import rank
from treering.search.ranking import Ranking
from treering.search.relations.contract import MISSING, Flags, Items, ReadingOrder, Relations
from treering.search.snapshot import FragmentSource, Snapshot
from treering.search.stored import GroupColumns
from treering.search.vectors import Block, VectorBlocks

if TYPE_CHECKING:
    from treering.search.hits import RowReader
    from treering.search.searcher import Search


@dataclass(frozen=True, slots=True)
class RoundRanking:
    """The rows of a snapshot of N fragments, ranked by their rounds.

    ``rounds`` ranks R rounds, ``round_of``, shape (N,), is the round of each row, and ``scores``,
    (N,), are those of the rounds.
    """

    snapshot: Snapshot
    scores: Floats
    rounds: Ranking
    round_of: Codes
    rows: RowReader | None = None

    def confidence(self, rows: Codes) -> list[float]:
        """Return the probability of the round of each row that it answers the query."""
        return self.rounds.confidence(self.round_of[rows])

    def why(self, row: int) -> Why:
        """Return why the round of a row has its score."""
        return self.rounds.why(int(self.round_of[row]))

    def best(self, k: int, allowed: Flags | None = None) -> Codes:
        """Return the rows of the k best rounds, best round first, each round as it is read.

        A round of which some rows are ``allowed`` counts; only these are given.
        """
        rows = np.arange(len(self.round_of)) if allowed is None else np.flatnonzero(allowed)
        shown = np.zeros(len(self.rounds.snapshot), dtype=np.bool_)
        shown[self.round_of[rows]] = True
        chosen = self.rounds.best(k, shown)
        place = np.full(len(shown), len(chosen))
        place[chosen] = np.arange(len(chosen))
        rows = rows[place[self.round_of[rows]] < len(chosen)]
        order = np.lexsort((self.snapshot.items.position[rows], place[self.round_of[rows]]))
        best: Codes = rows[order]
        return best

    def together(self, rows: Codes) -> Codes:
        """Return rows in their order, but those of a round after its first, as they are read."""
        of_row = self.round_of[rows]
        _, first, group = np.unique(of_row, return_index=True, return_inverse=True)
        whole: Codes = rows[np.lexsort((self.snapshot.items.position[rows], first[group]))]
        return whole


RankedRows = Ranking | RoundRanking


class RoundRanker:
    """Ranks rounds. Keeps those of one state of a space, and the operators of relations."""

    def __init__(self, corpus: FragmentSource) -> None:
        self._corpus = corpus
        self._lock = threading.Lock()
        self._relations = Relations()
        self._version = 0
        self._held: tuple[Snapshot, Codes] | None = None

    def rank(self, rows: RowReader, search: Search) -> RoundRanking:
        """Rank as ``pipeline.rank`` does, with rounds in the place of fragments."""
        rounds, round_of = self.group(rows.reader, rows.snapshot)
        ranking = rank(rounds, self._relations, search)
        return RoundRanking(rows.snapshot, ranking.scores[round_of], ranking, round_of, rows)

    def group(self, reader: SpaceReader, snapshot: Snapshot) -> tuple[Snapshot, Codes]:
        """Return a snapshot with a row for each round, and the round of every fragment."""
        with self._lock:
            if self._held is None or self._version != snapshot.version:
                fragments = snapshot.fragment.tolist()
                spans = self._corpus.spans(reader, fragments)
                lengths = [spans[fragment][1] - spans[fragment][0] for fragment in fragments]
                starts = round_starts(snapshot, entries.of_role(reader, snapshot.state.id, "user"))
                self._held = group_rows(snapshot, starts, np.array(lengths, dtype=np.float32))
                self._version = snapshot.version
            return self._held


def group_rows(snapshot: Snapshot, starts: Flags, lengths: Floats) -> tuple[Snapshot, Codes]:
    """Return a snapshot with a row for each group, and the group of every row, shape (N,).

    ``starts``, shape (N,), tells at which places of the reading order a group begins. The vector of
    a group is the sum of its parts', by their ``lengths``, shape (N,).
    """
    reading = reading_of(snapshot)
    first = reading.rows[starts].astype(np.int64)
    group_of = np.zeros(len(snapshot), dtype=np.int64)
    group_of[reading.rows] = np.cumsum(starts) - 1
    embedded = np.zeros(len(first), dtype=np.bool_)
    embedded[group_of[snapshot.embedded]] = True
    groups = replace(
        snapshot,
        fragment=snapshot.fragment[first],
        entry=snapshot.entry[first],
        kind=snapshot.kind[first],
        zone=snapshot.zone[first],
        items=_group_items(snapshot, reading, starts, lengths, group_of),
        lexical=snapshot.lexical.group_rows(group_of, len(first)),
        embedded=embedded,
        speakers=(),  # a round is of nobody alone
        vector_number=None,
        change=None,
        named=None,
    )
    return groups, group_of


def reading_of(snapshot: Snapshot) -> ReadingOrder:
    """Return the reading order of a snapshot."""
    reading = snapshot.items.reading
    assert reading is not None  # the snapshot of a space has it
    return reading


def round_starts(snapshot: Snapshot, by_user: Sequence[int]) -> Flags:
    """Return whether a round starts at each place of the reading order, shape (N,).

    It starts at a message of the user, ``by_user`` by entry; in a session without any, at those of
    the speaker who began it, and without speakers at every message. Other content is not a round:
    each row stands alone.
    """
    reading = reading_of(snapshot)
    entry, speaker = snapshot.entry[reading.rows], snapshot.items.speaker[reading.rows]
    is_chat = snapshot.kind[reading.rows] == KINDS.index("chat")
    is_first = ~reading.continues
    session = np.cumsum(is_first) - 1
    firsts = np.flatnonzero(is_first)
    asks = np.isin(entry, np.array(by_user, dtype=np.int64))
    has_user = np.logical_or.reduceat(asks, firsts)[session]
    opener = speaker[firsts][session]
    asks |= ~has_user & ((speaker == opener) | (opener == MISSING))
    is_new = np.diff(entry, prepend=MISSING) != 0
    after_chat = np.concatenate([[False], is_chat[:-1]])
    starts: Flags = is_first | (asks & is_new) | ~is_chat | ~after_chat
    return starts


def _group_items(
    snapshot: Snapshot, reading: ReadingOrder, starts: Flags, lengths: Floats, group_of: Codes
) -> Items:
    """Return the columns of the groups: they count within their document, in order."""
    items, first = snapshot.items, reading.rows[starts]
    document = items.document[first]
    begins = np.flatnonzero(np.diff(document, prepend=MISSING - 1))
    sizes = np.diff(np.append(begins, len(first)))
    parts = np.asarray(items.vectors)[reading.rows]
    parts *= lengths[reading.rows, None]
    sums: Floats = np.add.reduceat(parts, np.flatnonzero(starts), axis=0, dtype=np.float32)
    return Items(
        document=document,
        position=np.arange(len(first)) - np.repeat(begins, sizes),
        session=items.session[first],
        speaker=np.full(len(first), MISSING),
        at=items.at[first],
        vectors=VectorBlocks([Block(unit_rows(sums), None)], sums.shape[1]),
        fragment=snapshot.fragment[first],
        stored=items.stored and GroupColumns(items.stored, group_of, len(first)),
    )
