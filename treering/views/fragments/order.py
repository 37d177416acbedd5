"""The reading order of the table, updated as rows are added and removed.

Two columns follow from the order of rows: the rank of each row within its source, and its session.
Chats without session names are cut at long silences. Where rows go, their source is cut again;
where rows come, from the first session that may change. Other sessions keep their codes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, do_all, union
from treering.records import KINDS
from treering.search.relations.contract import MISSING, Flags, Ints, ReadingOrder, fill_times
from treering.views.fragments.columns import Column

SESSION_GAP_S = 4 * 3600.0
"""A silence after which a chat without session names begins a new session."""

MOST_INSERTED = 4_096  # rows inserted one by one; for more the order is rebuilt

MOST_STEPS = 64  # rows before a new one that are searched for a place where cutting may begin

_CHAT = KINDS.index("chat")

T = TypeVar("T", bound=np.generic)


@dataclass(slots=True)
class PlacedColumns:
    """The columns that determine the order; ``named`` are codes of sessions with a name."""

    source: Column[np.int32]
    position: Column[np.int32]
    start: Column[np.int32]
    at: Column[np.float64]
    named: Column[np.int32]
    kind: Column[np.int8]

    @classmethod
    def empty(cls) -> Self:
        """Columns without rows."""
        source, position, start, named = (Column(np.int32) for _ in range(4))
        return cls(source, position, start, Column(np.float64), named, Column(np.int8))


class Reading:
    """Reading order, ranks and sessions of the rows of some columns."""

    def __init__(self, columns: PlacedColumns) -> None:
        self._of = columns
        self.rank = Column(np.int32)
        self.session = Column(np.int32)
        self._rows = Column(np.int32)
        self._follows = Column(np.bool_)
        self._continues = Column(np.bool_)
        self._is_plain = True
        self._sources: Ints = np.zeros(0, dtype=np.int32)  # ascending
        self._firsts: Codes = np.zeros(1, dtype=np.int64)  # places of their first rows; the end
        self._stretches = 0  # sessions cut at silences so far
        self._shown = 0  # places that readers may have seen in the arrays as they are

    def __len__(self) -> int:
        return len(self._rows)

    def order(self) -> ReadingOrder:
        """The order as it is now."""
        self._shown = len(self._rows)
        return ReadingOrder(
            rows=self._rows.values,
            follows=self._follows.values,
            continues=self._continues.values,
            is_plain=self._is_plain,
            sources=self._sources,
            firsts=self._firsts,
        )

    # ------------------------------------------------------------------ all rows

    def rebuild(self) -> Codes:
        """Rebuild everything; return all places."""
        source, position, start = (
            column.values for column in (self._of.source, self._of.position, self._of.start)
        )
        self._is_plain = _ascends(source, position, start)
        if self._is_plain:
            rows = np.arange(len(source), dtype=np.int32)
        else:
            rows = np.lexsort((start, position, source)).astype(np.int32)
        self._rows.replace(rows)
        whole = slice(0, len(rows))
        ordered = self._in_order(self._of.source, whole)
        follows = _as_before(ordered)
        firsts = np.flatnonzero(~follows)
        self._sources = ordered[firsts]
        self._firsts = np.append(firsts, len(rows)).astype(np.int64)
        sizes = np.diff(self._firsts)
        rank = np.arange(len(rows), dtype=np.int32)
        rank -= np.repeat(firsts.astype(np.int32), sizes)
        self.rank.replace(self._by_row(rank))
        self._stretches = 0
        session = self._cut(whole)
        self.session.replace(self._by_row(session))
        self._follows.replace(follows)
        follows &= _as_before(session)
        self._continues.replace(follows)
        return np.arange(len(rows))

    def _in_order(self, column: Column[T], places: slice | Codes) -> NDArray[T]:
        """The values of a column at some places; a view, if the order is plain."""
        return column.values[places if self._is_plain else self._rows.values[places]]

    def _by_row(self, ordered: Ints) -> Ints:
        """Values by row, given those by place."""
        if self._is_plain:
            return ordered
        by_row = np.empty_like(ordered)
        by_row[self._rows.values] = ordered
        return by_row

    def _cut(self, places: slice | Codes, before: Ints | None = None) -> Ints:
        """The sessions of the rows at some places, which are all rows of their sources.

        A stretch between silences gets the code that its rows had ``before``, if they had one that
        no earlier stretch has.
        """
        of = self._of
        new = ~_as_before(self._in_order(of.source, places))
        at = self._in_order(of.at, places)
        is_timed = ~np.isnan(at)
        if not is_timed.all():
            at = fill_times(at, np.cumsum(new))
            is_timed = ~np.isnan(at)
        new[1:] |= at[1:] - at[:-1] > SESSION_GAP_S
        stretches = np.cumsum(new, dtype=np.int32) - np.int32(1)
        named = self._in_order(of.named, places)
        is_cut = is_timed & (self._in_order(of.kind, places) == _CHAT) & (named == MISSING)
        # Named sessions have even codes and those cut at silences odd ones.
        codes = np.full(np.count_nonzero(new), MISSING, dtype=np.int32)
        if before is not None:
            had = np.flatnonzero(is_cut & (before > 0) & (before % 2 == 1))
            stretch, first = np.unique(stretches[had], return_index=True)
            code, kept = np.unique(before[had][first], return_index=True)
            codes[stretch[kept]] = code
        begun = np.zeros(len(codes), dtype=np.bool_)
        begun[stretches[is_cut]] = True
        begun &= codes == MISSING
        count = int(np.count_nonzero(begun))
        codes[begun] = 2 * np.arange(self._stretches, self._stretches + count, dtype=np.int32) + 1
        self._stretches += count
        cut = np.where(is_cut, codes[stretches], np.int32(MISSING)) if len(codes) else stretches
        return np.where(named != MISSING, 2 * named, cut)

    # ------------------------------------------------------------------ rows that come

    def add(self) -> Codes:
        """Insert the rows that the columns have more; return the changed places."""
        size, total = len(self._rows), len(self._of.source)
        if total - size > MOST_INSERTED or not size:
            return self.rebuild()
        new = np.array(sorted(range(size, total), key=self._key), dtype=np.int32)
        places = np.array([self._place(row) for row in new.tolist()], dtype=np.int64)
        self.rank.extend(np.full(len(new), MISSING, dtype=np.int32))
        self.session.extend(np.full(len(new), MISSING, dtype=np.int32))
        is_last = places[0] == size and bool((np.diff(new, prepend=size - 1) == 1).all())
        self._is_plain = self._is_plain and is_last
        if places[0] < size:
            self._shown = 0  # the arrays are copied
        self._rows.insert(places, new)
        for flags in (self._follows, self._continues):
            flags.insert(places, np.zeros(len(new), dtype=np.bool_))
        codes, at, more = np.unique(
            self._of.source.values[new], return_index=True, return_counts=True
        )
        self._count_sources(codes, more)
        places += np.arange(len(new))
        beside = np.concatenate([places, places + 1])
        starts = map(self._cut_start, codes, places[at].tolist())
        return self._renew(codes, beside[beside < len(self._rows)], seen=size, starts=list(starts))

    def _key(self, row: int) -> tuple[int, int, int]:
        of = self._of
        return int(of.source.values[row]), int(of.position.values[row]), int(of.start.values[row])

    def _place(self, row: int) -> int:
        """The place of a new row in the order so far."""
        key = self._key(row)
        first, stop = self.bounds(key[0])
        if stop > first and self._key(int(self._rows.values[stop - 1])) > key:
            rows = self._rows.values
            return first + bisect_left(
                range(first, stop), True, key=lambda place: self._key(int(rows[place])) > key
            )
        return stop

    def _count_sources(self, codes: Ints, more: Codes) -> None:
        """Count rows that some sources, given ascending, have more."""
        sizes = np.diff(self._firsts)
        at = np.searchsorted(self._sources, codes)
        is_new = ~np.isin(codes, self._sources)
        self._sources = np.insert(self._sources, at[is_new], codes[is_new])
        sizes = np.insert(sizes, at[is_new], 0)
        sizes[np.searchsorted(self._sources, codes)] += more
        self._firsts = np.append(0, np.cumsum(sizes))

    def bounds(self, source: int) -> tuple[int, int]:
        """The first place of a source, and the place after its last."""
        at = int(np.searchsorted(self._sources, source))
        if at == len(self._sources) or self._sources[at] != source:
            return int(self._firsts[at]), int(self._firsts[at])
        return int(self._firsts[at]), int(self._firsts[at + 1])

    def _cut_start(self, source: int, place: int) -> int:
        """Return the place from which a source is cut again if its rows from ``place`` on changed.

        The sessions of the rows before it stay: else each turn of a long chat costs all before it.
        """
        first, stop = self.bounds(source)
        if place == first:
            return first
        of = self._of
        rows, later = self._rows.values[max(first, place - MOST_STEPS) : place], slice(place, stop)
        is_untimed = bool(np.isnan(self._in_order(of.at, later)).all())
        is_cut = of.named.values[rows] == MISSING
        is_cut &= of.kind.values[rows] == _CHAT
        if is_untimed and is_cut[-1] and self.session.values[rows[-1]] == MISSING:
            return place - 1  # no row has a time
        is_timed = ~np.isnan(of.at.values[rows])
        if is_untimed or is_timed[-1]:  # so no row before gets another time
            kind, named = self._in_order(of.kind, later), self._in_order(of.named, later)
            if ((kind != _CHAT) | (named != MISSING)).all():
                return place
        known = np.flatnonzero(is_cut & is_timed)
        return place - len(rows) + int(known[-1]) if len(known) else first

    def _renew(
        self,
        sources: Sequence[int] | Ints,
        changed: Codes,
        seen: int,
        starts: Sequence[int] | None = None,
    ) -> Codes:
        """Rank and cut the rows of some sources again; return the places that changed in all.

        Begin at ``starts``, or else with the first row of each source. Readers know only rows below
        ``seen``.
        """
        bounds = [self.bounds(source) for source in sources]
        begins = [first for first, _ in bounds] if starts is None else starts
        spans = [(begin, stop) for begin, (_, stop) in zip(begins, bounds, strict=True)]
        places = np.concatenate([changed[:0], *(np.arange(*span) for span in spans)])
        if len(places):
            firsts = np.repeat([first for first, _ in bounds], [b - a for a, b in spans])
            rows = self._rows.values[places]
            _write(self.rank, rows, places - firsts, seen)
            _write(self.session, rows, self._cut(places, self.session.values[rows]), seen)
            follows, continues = self._links(places)
            is_new = (follows != self._follows.values[places]) | (
                continues != self._continues.values[places]
            )
            changed = union(changed, places[is_new])
            _write(self._follows, places, follows, self._shown)
            _write(self._continues, places, continues, self._shown)
        return union(changed)

    def _links(self, places: Codes) -> tuple[Flags, Flags]:
        """``follows`` and ``continues`` of some places."""
        rows = self._rows.values
        here, before = rows[places], rows[places - 1]
        source, session = self._of.source.values, self.session.values
        follows = (source[here] == source[before]) & (places > 0)
        return follows, follows & (session[here] == session[before])

    # ------------------------------------------------------------------ rows that go

    def remove(self, gone: Codes) -> tuple[Codes, list[int]]:
        """Remove rows, given ascending, before the columns do.

        Return the places that had them, and their sources, for ``finish_removal``.
        """
        source = self._of.source.values[gone]
        at = np.searchsorted(self._sources, source)
        places = np.sort(self._firsts[at] + self.rank.values[gone])
        sizes = np.diff(self._firsts)
        np.subtract.at(sizes, at, 1)
        self._sources = self._sources[sizes > 0]
        self._firsts = np.append(0, np.cumsum(sizes[sizes > 0]))
        self._shown = 0  # the arrays are copied
        pairs: list[tuple[Column[Any], Codes]] = [
            *((self._follows, places), (self._continues, places)),
            *((self.rank, gone), (self.session, gone)),
        ]
        if self._is_plain:
            self._rows.truncate(len(self._rows) - len(gone))  # the numbers from 0, as before
        else:
            pairs.append((self._rows, places))
        do_all([partial(column.remove, rows) for column, rows in pairs], len(source))
        if not self._is_plain:
            _renumber(self._rows.values, gone)
        return places, union(source).tolist()

    def finish_removal(self, places: Codes, sources: Sequence[int]) -> Codes:
        """Rank and cut the rest, once the columns have lost the rows, too.

        Return the rows beside the changed places.
        """
        changed = self._renew(sources, union(places - np.arange(len(places))), seen=0)
        if not len(self._rows):
            return places[:0]
        beside = union(np.minimum(changed, len(self._rows) - 1))
        rows: Codes = self._rows.values[beside].astype(np.int64)
        return rows

    def places_of(self, rows: Codes) -> Codes:
        """The places of some rows."""
        at = np.searchsorted(self._sources, self._of.source.values[rows])
        places: Codes = self._firsts[at] + self.rank.values[rows]
        return places


def _write(column: Column[T], rows: Codes | Ints, values: NDArray[Any], seen: int) -> None:
    """Write values that differ, in place if readers know only the rows below ``seen``."""
    is_new = column.values[rows] != values
    rows, values = rows[is_new], values[is_new]
    if not len(rows):
        return
    if rows.min() >= seen:
        column.values[rows] = values
    else:
        column.set(rows, values)


def _ascends(*columns: NDArray[np.int32]) -> bool:
    """Whether rows are sorted by the first column, then the second, and so on."""
    settled = np.zeros(max(len(columns[0]) - 1, 0), dtype=np.bool_)
    for column in columns:
        if bool(((column[1:] < column[:-1]) & ~settled).any()):
            return False
        settled |= column[1:] > column[:-1]
    return True


def _as_before(values: Ints) -> Flags:
    """Where a value is the same as the one before it."""
    flags = np.zeros(len(values), dtype=np.bool_)
    np.equal(values[1:], values[:-1], out=flags[1:])
    return flags


def _renumber(rows: Ints, gone: Codes) -> None:
    """Renumber rows, which no reader has yet, for the removal of ``gone``."""
    if len(gone) <= 4:
        for row in gone[::-1].tolist():
            rows -= rows > row
    else:
        moved = np.zeros(len(rows) + len(gone), dtype=np.int32)
        moved[gone] = 1
        rows -= np.cumsum(moved, dtype=np.int32)[rows]
