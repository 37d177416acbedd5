"""The reading order of the table, updated as rows are added and removed.

Two columns follow from the order of rows: the rank of each row within its source, and its session.
Chats without session names are cut at long silences. One row changes sessions only beside it;
where its neighbours do not settle that, the whole source is cut again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from math import isnan, nan
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, union
from treering.parallel import do_all
from treering.records import KINDS
from treering.search.relations.contract import MISSING, Flags, Ints, ReadingOrder, fill_times
from treering.views.fragments.columns import Column

SESSION_GAP_S = 4 * 3600.0
"""A silence after which a chat without session names begins a new session."""

MOST_INSERTED = 4_096  # rows inserted one by one; for more the order is rebuilt
MOST_STEPS = 64  # back to a row with a time

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
        self._mixed: set[int] = set()  # sources of chats and other texts
        self._stretches = 0  # sessions cut at silences
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
        self._mixed = self._mixed_sources(sizes)
        self._stretches = 0
        session = self._cut(whole)
        self.session.replace(self._by_row(session))
        self._follows.replace(follows)
        follows &= _as_before(session)
        self._continues.replace(follows)
        return np.arange(len(rows))

    def _mixed_sources(self, sizes: Codes) -> set[int]:
        """The sources of both chats and other texts; ``sizes`` are their numbers of rows."""
        is_chat = self._in_order(self._of.kind, slice(0, len(self._rows))) == _CHAT
        if is_chat.all() or not is_chat.any():
            return set()
        chats = np.add.reduceat(is_chat, self._firsts[:-1], dtype=np.int64)
        return set(self._sources[(chats > 0) & (chats < sizes)].tolist())

    def _in_order(self, column: Column[T], places: slice) -> NDArray[T]:
        """The values of a column at some places; a view, if the order is plain."""
        return column.values[places if self._is_plain else self._rows.values[places]]

    def _by_row(self, ordered: Ints) -> Ints:
        """Values by row, given those by place."""
        if self._is_plain:
            return ordered
        by_row = np.empty_like(ordered)
        by_row[self._rows.values] = ordered
        return by_row

    def _cut(self, places: slice) -> Ints:
        """The sessions of the rows at some places, which are all rows of their sources."""
        of = self._of
        new = ~_as_before(self._in_order(of.source, places))
        at = self._in_order(of.at, places)
        is_timed = ~np.isnan(at)
        if not is_timed.all():
            at = fill_times(at, np.cumsum(new))
            is_timed = ~np.isnan(at)
        new[1:] |= at[1:] - at[:-1] > SESSION_GAP_S
        stretches = np.cumsum(new, dtype=np.int32)
        stretches += np.int32(self._stretches)
        self._stretches = int(stretches[-1]) if len(stretches) else self._stretches
        named = self._in_order(of.named, places)
        is_timed &= self._in_order(of.kind, places) == _CHAT
        # Named sessions have even codes and those cut at silences odd ones.
        unnamed = np.where(is_timed, 2 * stretches + np.int32(1), np.int32(MISSING))
        return np.where(named != MISSING, 2 * named, unnamed)

    def _links(self, places: Codes) -> tuple[Flags, Flags]:
        """``follows`` and ``continues`` of some places."""
        rows = self._rows.values
        here, before = rows[places], rows[places - 1]
        source, session = self._of.source.values, self.session.values
        follows = (source[here] == source[before]) & (places > 0)
        return follows, follows & (session[here] == session[before])

    # ------------------------------------------------------------------ rows that come

    def add(self) -> Codes:
        """Insert the rows that the columns have more; return the changed places."""
        first, total = len(self._rows), len(self._of.source)
        if total - first > MOST_INSERTED or not first:
            return self.rebuild()
        new = sorted(range(first, total), key=self._key)
        self.rank.extend(np.zeros(len(new), dtype=np.int32))
        self.session.extend(np.full(len(new), MISSING, dtype=np.int32))
        inserter = _Inserter(self)
        for row in new:
            inserter.put(row)
        return self._insert(np.array(new, dtype=np.int32), inserter)

    def _key(self, row: int) -> tuple[int, int, int]:
        of = self._of
        return int(of.source.values[row]), int(of.position.values[row]), int(of.start.values[row])

    def _insert(self, new: Ints, inserter: _Inserter) -> Codes:
        places = np.array(inserter.places, dtype=np.int64)
        size = len(self._rows)
        is_last = places[0] == size and bool((np.diff(new, prepend=size - 1) == 1).all())
        self._is_plain = self._is_plain and is_last
        if places[0] < size:
            self._shown = 0  # the arrays are copied
        self._rows.insert(places, new)
        for flags in (self._follows, self._continues):
            flags.insert(places, np.zeros(len(new), dtype=np.bool_))
        source = self._of.source.values[new]
        self._sources, counts = self._with_sources(source)
        self._firsts = np.append(0, np.cumsum(counts))
        places += np.arange(len(new))
        for code in union(source).tolist():
            self._number(code, int(places[np.searchsorted(source, code)]), seen=size)
        return self._relink(np.concatenate([places, places + 1]), inserter.unsettled)

    def _with_sources(self, source: Ints) -> tuple[Ints, Codes]:
        """All sources including those of new rows, and the number of rows of each."""
        sizes = np.diff(self._firsts)
        codes, more = np.unique(source, return_counts=True)
        at = np.searchsorted(self._sources, codes)
        is_new = ~np.isin(codes, self._sources)
        sources = np.insert(self._sources, at[is_new], codes[is_new])
        sizes = np.insert(sizes, at[is_new], 0)
        sizes[np.searchsorted(sources, codes)] += more
        return sources, sizes

    def _number(self, source: int, place: int, seen: int) -> None:
        """Set the ranks of the rows of a source from a place on.

        Readers know only rows below ``seen``.
        """
        first, stop = self.bounds(source)
        rows = self._rows.values[place:stop]
        ranks = np.arange(place - first, stop - first, dtype=np.int32)
        if len(rows) and rows.min() >= seen:
            self.rank.values[rows] = ranks
        else:
            self.rank.set(rows, ranks)

    def bounds(self, source: int) -> tuple[int, int]:
        """The first place of a source, and the place after its last."""
        at = int(np.searchsorted(self._sources, source))
        if at == len(self._sources) or self._sources[at] != source:
            return int(self._firsts[at]), int(self._firsts[at])
        return int(self._firsts[at]), int(self._firsts[at + 1])

    def _relink(self, places: Codes, unsettled: Iterable[int]) -> Codes:
        """Cut unsettled sources again, then link rows at changed places; return all of these."""
        changed = [places]
        for source in unsettled:
            first, stop = self.bounds(source)
            self.session.set(self._rows.values[first:stop], self._cut(slice(first, stop)))
            changed.append(np.arange(first, stop + 1))
        every = union(*changed)
        every = every[every < len(self._rows)]
        if len(every):
            follows, continues = self._links(every)
            for column, flags in ((self._follows, follows), (self._continues, continues)):
                if every[0] >= self._shown:
                    column.values[every] = flags
                else:
                    column.set(every, flags)
        return every

    # ------------------------------------------------------------------ rows that go

    def remove(self, gone: Codes) -> _Removal:
        """Remove rows, given ascending, before the columns do; see ``finish_removal``."""
        source = self._of.source.values[gone]
        at = np.searchsorted(self._sources, source)
        places = np.sort(self._firsts[at] + self.rank.values[gone])
        unsettled = self._unsettled_without(places)
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
        return _Removal(places, union(source).tolist(), unsettled)

    def finish_removal(self, removal: _Removal) -> Codes:
        """Rank the rest, once the columns have lost the rows, too.

        Return the rows beside the changed places.
        """
        places = union(removal.places - np.arange(len(removal.places)))
        for source in removal.sources:
            first, stop = self.bounds(source)
            after = places[(places >= first) & (places < stop)]
            if len(after):
                self._number(source, int(after[0]), seen=0)
        self._relink(places, removal.unsettled)
        if not len(self._rows):
            return places[:0]
        beside = np.minimum(places, len(self._rows) - 1)
        changed = [beside, *(np.arange(*self.bounds(source)) for source in removal.unsettled)]
        rows: Codes = self._rows.values[union(*changed)].astype(np.int64)
        return rows

    def places_of(self, rows: Codes) -> Codes:
        """The places of some rows."""
        at = np.searchsorted(self._sources, self._of.source.values[rows])
        places: Codes = self._firsts[at] + self.rank.values[rows]
        return places

    def _unsettled_without(self, places: Codes) -> list[int]:
        """The sources whose sessions may change without the rows at these places."""
        unsettled: set[int] = set()
        source, rows = self._of.source.values, self._rows.values
        of_places = source[rows[places]]
        new_run = (np.diff(places, prepend=-2) > 1) | (np.diff(of_places, prepend=-1) != 0)
        starts = np.flatnonzero(new_run)
        firsts = places[starts].tolist()
        stops = (places[np.append(starts[1:], len(places)) - 1] + 1).tolist()
        for first, stop in zip(firsts, stops, strict=True):
            code = int(source[rows[first]])
            if code in self._mixed or not self._is_settled_without(code, first, stop):
                unsettled.add(code)
        return sorted(unsettled)

    def _is_settled_without(self, source: int, first: int, stop: int) -> bool:
        """Whether the sessions of a source stay the same without the rows at some places."""
        rows, at = self._rows.values, self._of.at.values
        if self._of.kind.values[rows[first]] != _CHAT:
            return True
        times = at[rows[first:stop]]
        if np.isnan(times).all():
            return True
        begin, end = self.bounds(source)
        before = self.time_before(first, begin)
        after = float(at[rows[stop]]) if stop < end else nan
        if (first > begin and isnan(before)) or (stop < end and isnan(after)):
            return False
        if first == begin or stop == end:
            return True
        line = np.concatenate([[before], times[~np.isnan(times)], [after]])
        was_apart = bool((np.diff(line) > SESSION_GAP_S).any())
        return was_apart == (after - before > SESSION_GAP_S)

    def time_before(self, place: int, first: int) -> float:
        """The last time before a place of a source from ``first`` on; NaN if none is near."""
        rows = self._rows.values[max(first, place - MOST_STEPS) : place]
        times = self._of.at.values[rows]
        there = np.flatnonzero(~np.isnan(times))
        return float(times[there[-1]]) if len(there) else nan


@dataclass(frozen=True, slots=True)
class _Removal:
    """The work left after rows were removed. Places are those before the removal."""

    places: Codes
    sources: list[int]
    unsettled: list[int]


class _Inserter:
    """Finds the places and sessions of new rows, which come in reading order."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._of = reading._of
        self._rows = reading._rows.values
        self.places: list[int] = []
        self.unsettled: set[int] = set()
        self._last: tuple[int, int, float] | None = None  # row, place and time of the last one

    def put(self, row: int) -> None:
        """Find the place of a row in the old order, and its session."""
        key = self._reading._key(row)
        source = key[0]
        first, stop = self._reading.bounds(source)
        place = stop
        if stop > first and self._reading._key(int(self._rows[stop - 1])) > key:
            between = range(first, stop)
            key_at = lambda place: self._reading._key(int(self._rows[place]))  # noqa: E731
            place = first + bisect_right(between, key, key=key_at)
        before, time = None, nan
        last = self._last
        if last is not None and last[1] == place and self._of.source.values[last[0]] == source:
            before, time = last[0], last[2]
        elif place > first:
            before = int(self._rows[place - 1])
            time = self._reading.time_before(place, first)
        after = int(self._rows[place]) if place < stop else None
        session = self._session(row, before, after, time)
        if session is None or source in self._reading._mixed:
            self.unsettled.add(source)
        self._reading.session.values[row] = MISSING if session is None else session
        own = float(self._of.at.values[row])
        self.places.append(place)
        self._last = (row, place, time if isnan(own) else own)

    def _session(
        self, row: int, before: int | None, after: int | None, time_before: float
    ) -> int | None:
        """The session of a row between two others; None if the others' may change, too."""
        of = self._of
        neighbours = [neighbour for neighbour in (before, after) if neighbour is not None]
        is_chat = {bool(of.kind.values[each] == _CHAT) for each in (row, *neighbours)}
        if len(is_chat) > 1:
            self._reading._mixed.add(int(of.source.values[row]))
            return None
        named = int(of.named.values[row])
        own = None if named == MISSING else 2 * named
        if is_chat == {False}:
            return MISSING if own is None else own
        time = float(of.at.values[row])
        if isnan(time):
            if own is not None:
                return own
            return self._shared_session(neighbours[0]) if neighbours else MISSING
        time_after = nan if after is None else float(of.at.values[after])
        if (before is not None and isnan(time_before)) or (after is not None and isnan(time_after)):
            return None
        joins_before = before is not None and not time - time_before > SESSION_GAP_S
        joins_after = after is not None and not time_after - time > SESSION_GAP_S
        if before is not None and after is not None:
            apart = time_after - time_before > SESSION_GAP_S
            if apart == (joins_before and joins_after):
                return None
        if own is not None:
            return own
        joined = [
            self._shared_session(neighbour)
            for neighbour, joins in ((before, joins_before), (after, joins_after))
            if neighbour is not None and joins
        ]
        if not joined:
            self._reading._stretches += 1
            return 2 * self._reading._stretches + 1
        return next((session for session in joined if session is not None), None)

    def _shared_session(self, neighbour: int) -> int | None:
        """The session of a neighbour, as cut by times; None if it is named."""
        if self._of.named.values[neighbour] != MISSING:
            return None
        return int(self._reading.session.values[neighbour])


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
