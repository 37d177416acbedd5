"""The fragments that meet a filter, by the columns in memory or, for the rest, the database."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from treering.arrays import Codes, Floats
from treering.journal import entries, sources
from treering.journal.contract import Reader
from treering.journal.entries import micros
from treering.journal.filters import compile_filter
from treering.records import JSON, KINDS, Filter
from treering.search.metadata import is_plain
from treering.search.ranking import top_rows
from treering.search.relations.contract import Labels
from treering.search.scores import TOP
from treering.search.snapshot import Mask, Snapshot

if TYPE_CHECKING:
    from treering.search.ranking import Ranking
    from treering.search.rounds import RankedRows

LEAST_LOOKED_AT: Final = 256
MOST_LOOKED_AT: Final = 16_384
"""The database checks so many of the best rows against a filter, part by part, before all rows."""

AMPLE: Final = 1.25  # margin of the rows that are checked, by the share that met the filter so far

RANKED: Final = (1_024, 8_192, MOST_LOOKED_AT)  # numbers of best rows that are sorted for it

SLACK: Final = 4  # rows that meet a filter may be so many times as frequent as they seem
TELLING: Final = 1_024
"""Fewer rows do not show how frequent they are: by chance none of 256 meets a filter that one in
fifty meets, and checking all rows takes as long as ten searches of a million."""

FEW: Final = 8  # codes that are compared one after the other
PRECISE_S: Final = 2.0**32
"""Seconds from the epoch, 136 years, up to which a float has microseconds."""


@dataclass(slots=True)
class RowFilter:
    """The rows of a snapshot that meet a filter.

    ``mask`` has the conditions that the columns tell, for all rows; None for no condition. ``rest``
    has those that only the database tells: it is asked for the best rows first, mostly enough.
    """

    reader: Reader
    snapshot: Snapshot
    mask: Mask | None
    rest: Filter
    asked: Mask | None = None
    """The rows that the database checked, and those that meet the rest but for plain metadata;
    shape (2, N)."""

    @classmethod
    def from_columns(
        cls,
        reader: Reader,
        snapshot: Snapshot,
        condition: Filter,
        *,
        whole: bool = False,
        without: Collection[int] = (),
    ) -> Self:
        """Check the conditions of columns in memory, or, with ``whole``, all that columns can have.

        The entries whose sequence numbers are ``without`` do not meet the filter. Raise
        FilterError.
        """
        expired = entries.expired_seqs(reader, snapshot.state.id)  # erased soon
        hidden = [*expired, *without]
        if condition == Filter() and not hidden:
            return cls(reader, snapshot, None, condition)
        compile_filter(condition, reader.dialect)  # raises FilterError
        rest, masks = _by_columns(reader, snapshot, condition, whole=whole)
        if hidden:
            masks.append(~_among(snapshot.entry, hidden))
        return cls(reader, snapshot, _all_of(masks), rest)

    def whole(self) -> Mask | None:
        """Return the mask of all rows that meet the filter; None if all do."""
        if self.rest != Filter():
            rest, masks = _by_metadata(self.reader, self.snapshot, self.rest, whole=True)
            if rest != Filter():
                matching = entries.matching_seqs(self.reader, self.snapshot.state.id, rest)
                masks.append(np.isin(self.snapshot.entry, np.fromiter(matching, dtype=np.int64)))
            self.mask = _all_of(masks if self.mask is None else [self.mask, *masks])
            self.rest = Filter()
        return self.mask

    def best(self, ranking: RankedRows, query: int, k: int) -> Codes:
        """Return the rows of the k best of a ranking for a query that meet the filter."""
        allowed = None
        if self.rest != Filter() and ranking.by_row:
            deep = max(k, TOP)  # the confidence of any hit depends on these
            allowed = self._among_best(ranking.scores[:, query], deep, ranking.margin(query))
        return ranking.best(query, k, self.whole() if allowed is None else allowed)

    def first(self, ranking: Ranking, query: int, k: int) -> Codes:
        """As ``best``, by the present scores, which stay inexact."""
        scores, allowed = ranking.scores[:, query], None
        if self.rest != Filter():
            allowed = self._among_best(scores, k, 0.0)
        return top_rows(scores, k, self.whole() if allowed is None else allowed)

    def _among_best(self, scores: Floats, k: int, margin: float) -> Mask | None:
        """Return so many of the best rows that meet the filter that the k best of all are among
        them, even if scores change by ``margin``; None if they are hard to find.
        """
        depth, rows = 0, np.zeros(0, dtype=np.int64)
        allowed = np.zeros(len(self.snapshot), dtype=np.bool_)
        start, stop = 0, LEAST_LOOKED_AT
        while start < stop:
            if stop > depth:  # a few are found without sorting all, and mostly they are enough
                depth = next(deep for deep in RANKED if deep >= stop)
                rows = top_rows(scores, depth, self.mask)
            allowed[self._met(rows[start:stop])] = True
            if len(rows) < depth and stop >= len(rows):
                return allowed
            met = rows[:stop][allowed[rows[:stop]]]
            # Rows further down come after these if scores are not so far off.
            least = scores[met[k - 1]] - margin if len(met) >= k else -np.inf
            if scores[rows[stop - 1]] <= least:
                return allowed
            if stop >= TELLING and SLACK * len(met) * MOST_LOOKED_AT < k * stop:
                return None  # too few, even if they are more frequent among the others
            start, stop = stop, _next_stop(stop, len(met), k)
        return None

    def _met(self, rows: Codes) -> Codes:
        """Return the rows whose entries meet the rest of the filter in the database."""
        snapshot, space = self.snapshot, self.snapshot.state.id
        metadata, others = _plain(self.rest)
        for key, value in metadata.items():
            rows = rows[
                snapshot.metadata.some_rows_with(
                    self.reader, space, snapshot.entry, key, value, rows
                )
            ]
        if others == Filter():
            return rows
        if self.asked is None:
            self.asked = np.zeros((2, len(snapshot)), dtype=np.bool_)
        is_asked, meets = self.asked
        new = rows[~is_asked[rows]]
        entry = snapshot.entry[new]
        met = list(entries.matching_seqs(self.reader, space, others, sorted(set(entry.tolist()))))
        is_asked[new] = True
        meets[new] = np.isin(entry, met)
        here: Codes = rows[meets[rows]]
        return here


def _next_stop(stop: int, met: int, k: int) -> int:
    """Return how many of the best rows to look at, after ``met`` of the first ``stop`` met."""
    # Each row costs the reading of two pages.
    enough = int(AMPLE * stop * k / met) if met else MOST_LOOKED_AT
    least = stop + max(LEAST_LOOKED_AT, stop // 4)
    return min(max(enough, least), 2 * stop, MOST_LOOKED_AT)


def allowed_rows(reader: Reader, snapshot: Snapshot, condition: Filter) -> Mask | None:
    """Return which rows meet a filter; None if all do. Raise FilterError."""
    return RowFilter.from_columns(reader, snapshot, condition, whole=True).whole()


def _all_of(masks: list[Mask]) -> Mask | None:
    if not masks:
        return None
    allowed = masks[0]
    for mask in masks[1:]:
        allowed = allowed & mask  # others may hold the first one
    return allowed


def _by_columns(
    reader: Reader, snapshot: Snapshot, condition: Filter, *, whole: bool
) -> tuple[Filter, list[Mask]]:
    """Return masks of the conditions on columns, and a filter of the other conditions."""
    items, space = snapshot.items, snapshot.state.id
    rest = condition
    masks: list[Mask] = []
    if condition.source is not None:
        numbers = sources.matching_sources(reader, space, condition.source)
        masks.append(_among(items.document, numbers))
        rest = replace(rest, source=None)
    if condition.speaker is not None:
        code = snapshot.names.speakers.get(condition.speaker)
        masks.append(_among(items.speaker, [] if code is None else [code]))
        rest = replace(rest, speaker=None)
    if condition.session is not None and snapshot.named is not None:
        masks.append(_among(snapshot.named, snapshot.names.sessions(condition.session)))
        rest = replace(rest, session=None)
    if condition.kind is not None:
        masks.append(snapshot.kind == KINDS.index(condition.kind))
        rest = replace(rest, kind=None)
    if condition.omit:
        masks.append(~_among(snapshot.entry, entries.seqs_of(reader, space, condition.omit)))
        rest = replace(rest, omit=frozenset())
    rest, by_time = _by_time(snapshot, rest)
    rest, by_metadata = _by_metadata(reader, snapshot, rest, whole=whole)
    return rest, [*masks, *by_time, *by_metadata]


def _by_time(snapshot: Snapshot, condition: Filter) -> tuple[Filter, list[Mask]]:
    masks: list[Mask] = []
    for bound, is_met in ((condition.since, np.greater_equal), (condition.until, np.less)):
        if bound is None:
            continue
        if abs(micros(bound) / 1e6) >= PRECISE_S:
            return condition, []
        at = snapshot.items.at  # NaN, where no time is known, is neither before nor after
        if bound.tzinfo is None:
            at = at + 60.0 * snapshot.zone
        masks.append(is_met(at, micros(bound) / 1e6))
    return replace(condition, since=None, until=None), masks


def _by_metadata(
    reader: Reader, snapshot: Snapshot, condition: Filter, *, whole: bool
) -> tuple[Filter, list[Mask]]:
    """Return masks by the keys whose values are at hand, or by all, and the other conditions."""
    space, entry, metadata = snapshot.state.id, snapshot.entry, snapshot.metadata
    plain, _ = _plain(condition)
    held = {
        key: value
        for key, value in plain.items()
        if whole or metadata.is_read(reader, space, entry, key)
    }
    rest = {key: value for key, value in condition.metadata.items() if key not in held}
    masks = [metadata.rows_with(reader, space, entry, key, value) for key, value in held.items()]
    return replace(condition, metadata=rest), masks


def _plain(condition: Filter) -> tuple[dict[str, JSON], Filter]:
    """Return the metadata of a filter whose values are plain, and the rest of the filter."""
    plain = {key: value for key, value in condition.metadata.items() if is_plain(value)}
    rest = {key: value for key, value in condition.metadata.items() if key not in plain}
    return plain, replace(condition, metadata=rest)


def _among(column: Labels, codes: list[int]) -> Mask:
    """Return where a column has one of some codes."""
    if len(codes) > FEW:
        mask: Mask = np.isin(column, np.array(codes, dtype=column.dtype))
        return mask
    mask = np.zeros(len(column), dtype=np.bool_)
    for code in codes:
        mask |= column == code
    return mask
