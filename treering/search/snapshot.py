"""Snapshots: the fragments of a space as columns, at one moment; their names, and filters."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from operator import and_
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats
from treering.journal import entries, sources
from treering.journal.blocks import name_code
from treering.journal.contract import Reader
from treering.journal.entries import micros
from treering.journal.filters import compile_filter
from treering.journal.space import EmbeddingModel, SpaceReader, SpaceState
from treering.records import KINDS, Filter, Kind, Progress
from treering.search.lexical import Lexical
from treering.search.relations.contract import MISSING, Items, Labels, RowChange
from treering.search.stored import GroupColumns, Metadata, is_plain
from treering.search.terms import Terms, terms, words
from treering.search.vectors import VectorBlocks, cosines
from treering.split import Span

Mask = NDArray[np.bool_]


_POSSESSIVE: Final = re.compile(r"['\u2019]s\b", re.IGNORECASE)

ROLES: Final = frozenset({"user", "assistant", "system", "tool"})
"""Words, not names, in a query."""

NO_ROWS: Final = np.zeros(0, dtype=np.int64)

FEW: Final = 8  # speakers that are numbered one by one, which takes less than sorting


class Names:
    """Numbers for the speakers and the sessions of a space, in the order of their first rows.

    The columns of the database have the ``name_code`` of each name.
    """

    def __init__(self) -> None:
        self.speakers: dict[str, int] = {}
        self._speakers: dict[int, int] = {0: MISSING}
        self._lock = threading.Lock()  # searches ask for sessions while others come
        self._sessions: dict[tuple[int, int], int] = {}  # by code and source

    def speakers_of(
        self, entries: Codes, codes: NDArray[np.uint64], name_of: Callable[[int], str]
    ) -> NDArray[np.int32]:
        """Return the numbers of the speakers of some entries; MISSING for none.

        ``name_of`` reads a new name from an entry. Raise ValueError if it has another code.
        """
        numbers = np.empty(len(codes), dtype=np.int32)
        is_left = np.ones(len(codes), dtype=np.bool_)
        for _ in range(FEW):
            first = int(is_left.argmax()) if len(codes) else 0
            if not is_left[first : first + 1].any():
                return numbers
            is_same = codes == codes[first]
            numbers[is_same] = self._speaker(int(codes[first]), int(entries[first]), name_of)
            is_left &= ~is_same
        rows = np.flatnonzero(is_left)
        distinct, firsts, inverse = np.unique(codes[rows], return_index=True, return_inverse=True)
        each = np.empty(len(distinct), dtype=np.int32)
        for at in np.argsort(firsts).tolist():
            entry = int(entries[rows[firsts[at]]])
            each[at] = self._speaker(int(distinct[at]), entry, name_of)
        numbers[rows] = each[inverse]
        return numbers

    def _speaker(self, code: int, entry: int, name_of: Callable[[int], str]) -> int:
        if code not in self._speakers:
            name = name_of(entry)
            if name_code(name) != code:
                raise ValueError("a speaker of another name")
            self._speakers[code] = self.speakers[name] = len(self.speakers)
        return self._speakers[code]

    def sessions_of(self, sources: NDArray[Any], codes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """Return the numbers of sessions, named within their sources; MISSING for none."""
        if not len(codes):
            return np.zeros(0, dtype=np.int32)
        # The turns of a session come in a row: look it up once.
        is_other = (sources[1:] != sources[:-1]) | (codes[1:] != codes[:-1])
        firsts = np.append(0, np.flatnonzero(is_other) + 1)
        pairs = zip(codes[firsts].tolist(), sources[firsts].tolist(), strict=True)
        with self._lock:
            known = self._sessions
            numbers = [known.setdefault(pair, len(known)) if pair[0] else MISSING for pair in pairs]
        return np.repeat(np.array(numbers, dtype=np.int32), np.diff(firsts, append=len(codes)))

    def sessions(self, name: str) -> list[int]:
        """Return the numbers of the sessions of that name, of all sources."""
        looked_for = name_code(name)
        with self._lock:
            return [number for (code, _), number in self._sessions.items() if code == looked_for]


def named_speakers(speakers: Sequence[str], query: str) -> frozenset[int]:
    """Return the codes of the speakers whose names a query holds, with all of their words."""
    asked = words(_POSSESSIVE.sub("", query))
    every = ((code, words(name)) for code, name in enumerate(speakers))
    return frozenset(code for code, name in every if name and name <= asked and not name <= ROLES)


def without_speakers(speakers: Sequence[str], query: str) -> str:
    """Return the query without the names of speakers, or the query if nothing else is left.

    Half of all turns of a chat carry each name: it fills a vector and separates nothing.
    """
    rest = query
    for code in named_speakers(speakers, query):
        rest = re.sub(
            rf"(?<!\w){re.escape(speakers[code])}(?:['\u2019]s)?(?!\w)", " ", rest, flags=re.I
        )
    rest = " ".join(rest.split())
    return rest if len(terms(rest)) else query


STEPS: Final = 3.0
"""Rounding row and query leaves a cosine off by .4 of a step (the standard deviation), and terms of
relations by less, as means of many."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation of scores, of which not all need to be known.

    ``sample`` are rows drawn by chance whose scores are known.
    """

    centre: np.float32
    deviation: np.float32
    sample: Codes


@dataclass(frozen=True, slots=True)
class Cosines:
    """The cosines of N rows with a query.

    ``known`` are rows, ascending, whose cosines are exact. With a ``spread``, all other rows are at
    the mean of all. A cosine is off by up to ``steps`` between two codes of a unit vector in eight
    bits: so many ``behind`` the k best are computed as well, if they may belong before them.
    """

    values: Floats
    known: Codes = field(default_factory=lambda: NO_ROWS)
    spread: Spread | None = None
    steps: float = STEPS
    behind: int = 24


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows whose cosines a search needs, for a space that cannot compute all.

    ``allowed`` is the mask of the rows that meet the filter, None for all; ``favoured`` that of
    rows that get a bonus. ``promising`` returns the best rows by the cosines known so far, and the
    rows near them; ascending.
    """

    allowed: Mask | None
    favoured: Mask | None
    promising: Callable[[Cosines], Codes]


class CosineSource(Protocol):
    """Where the cosines of a snapshot come from."""

    def __call__(
        self, items: Items, query: Floats, bm25: Floats | None, wanted: Wanted | None
    ) -> Cosines:
        """The cosines of rows with the vector of a query, whose BM25 scores are given."""
        ...


def all_cosines(
    items: Items,
    query: Floats,
    bm25: Floats | None,  # noqa: ARG001
    wanted: Wanted | None,  # noqa: ARG001
) -> Cosines:
    """The cosines of all rows, by vectors in main memory."""
    return Cosines(cosines(items.vectors, query))


@dataclass(slots=True)
class Snapshot:
    """A state of the fragments of a space that does not change under a search."""

    fragment: Codes
    entry: Codes
    kind: NDArray[np.int8]
    zone: NDArray[np.int16]  # minutes that the clock of an item's time is ahead of UTC
    items: Items
    lexical: Lexical
    embedded: NDArray[np.bool_]
    speakers: tuple[str, ...]  # by speaker code
    kinds: tuple[Kind, ...]  # those that occur
    version: int  # no two snapshots of this process share it
    state: SpaceState
    vector_number: Codes | None = None  # by which ``exact`` finds the vectors; 0 for zeros
    change: RowChange | None = None  # how it came from an earlier one, if it did
    named: Labels | None = None  # codes in ``names`` of the sessions that have a name
    names: Names = field(default_factory=Names)
    metadata: Metadata = field(default_factory=Metadata)
    cosines: CosineSource = all_cosines

    def __len__(self) -> int:
        return len(self.fragment)


def widen(base: Snapshot, texts: Sequence[Terms], vectors: Floats, version: int) -> Snapshot:
    """Return a snapshot of the fragments, then texts that are ranked together with them.

    ``texts`` are the terms of each. ``vectors`` has a unit row per text, or an all-zero row for one
    that is not embedded. The new rows lack fragment, entry, document, session, speaker or time,
    and are scored as the kind that most fragments have.
    """
    missing = np.full(len(texts), MISSING)

    def extend(column: Labels) -> Codes:
        longer: Codes = np.concatenate([column, missing])
        return longer

    items, usual = base.items, int(np.bincount(base.kind).argmax())
    assert isinstance(items.vectors, VectorBlocks)  # all columns are in memory
    lexical = base.lexical
    if texts:
        lexical = lexical.extend(np.concatenate(texts), np.array([len(text) for text in texts]))
    return replace(
        base,
        fragment=extend(base.fragment),
        entry=extend(base.entry),
        zone=np.concatenate([base.zone, np.zeros(len(texts), dtype=np.int16)]),
        kind=np.concatenate([base.kind, np.full(len(texts), usual, dtype=np.int8)]),
        items=replace(
            items,
            document=extend(items.document),
            position=extend(items.position),
            session=extend(items.session),
            speaker=extend(items.speaker),
            at=np.concatenate([items.at, np.full(len(texts), np.nan)]),
            vectors=items.vectors.with_rows(vectors),
            fragment=None if items.fragment is None else extend(items.fragment),
            message=None if items.message is None else extend(items.message),
            stored=items.stored
            and GroupColumns(items.stored, np.arange(len(base)), len(base) + len(texts)),
        ),
        lexical=lexical,
        embedded=np.concatenate([base.embedded, vectors.any(axis=1)]),
        version=version,
        change=None,
        named=None if base.named is None else extend(base.named),
    )


class FragmentSource(Protocol):
    """The fragments of a space: columns held in memory, kept in step with it.

    In a space that is too large, vectors stay in the database, which finds the nearest.
    """

    def reading(self) -> AbstractContextManager[tuple[SpaceReader, Snapshot | None]]:
        """A read transaction and the fragments as of it; None while the space is empty."""
        ...

    def searching(self) -> AbstractContextManager[tuple[SpaceReader, Snapshot | None]]:
        """As ``reading``, for a search: it may leave the vectors in the database."""
        ...

    def exact(self, reader: SpaceReader, model: EmbeddingModel, numbers: Codes) -> Floats:
        """Vectors by their numbers, as they were embedded; zeros for number 0."""
        ...

    def spans(self, reader: SpaceReader, fragments: Sequence[int]) -> dict[int, Span]:
        """Start and stop of fragments in the texts of their entries, by id."""
        ...

    def settle(self, progress: Progress | None = None) -> None:
        """Do all pending work for searches. Raise JournalError."""
        ...


FEW_CODES: Final = 8  # codes that are compared one after the other

PRECISE_S: Final = 2.0**32
"""Seconds from the epoch, 136 years, up to which a float has microseconds."""


def allowed_rows(
    reader: Reader, snapshot: Snapshot, condition: Filter, without: Collection[int] = ()
) -> Mask | None:
    """Return which rows meet a filter; None if all do.

    The entries whose sequence numbers are ``without`` do not meet it. Raise FilterError.
    """
    expired = entries.expired_seqs(reader, snapshot.state.id)  # erased soon
    hidden = [*expired, *without]
    masks = [~_among(snapshot.entry, hidden)] if hidden else []
    if condition != Filter():
        compile_filter(condition, reader.dialect)  # raises FilterError
        masks += _condition_masks(reader, snapshot, condition)
    return reduce(and_, masks) if masks else None


def _condition_masks(reader: Reader, snapshot: Snapshot, condition: Filter) -> list[Mask]:
    """Return the mask of each condition; the database checks those that no column tells."""
    items, space = snapshot.items, snapshot.state.id
    rest = replace(condition, kind=None, speaker=None, source=None, omit=frozenset())
    masks: list[Mask] = []
    if condition.source is not None:
        numbers = sources.matching_sources(reader, space, condition.source)
        masks.append(_among(items.document, numbers))
    if condition.speaker is not None:
        code = snapshot.names.speakers.get(condition.speaker)
        masks.append(_among(items.speaker, [] if code is None else [code]))
    if condition.session is not None and snapshot.named is not None:
        masks.append(_among(snapshot.named, snapshot.names.sessions(condition.session)))
        rest = replace(rest, session=None)
    if condition.kind is not None:
        masks.append(snapshot.kind == KINDS.index(condition.kind))
    if condition.omit:
        masks.append(~_among(snapshot.entry, entries.seqs_of(reader, space, condition.omit)))
    if all(abs(micros(bound) / 1e6) < PRECISE_S for bound in _bounds(condition)):
        masks += _time_masks(snapshot, condition)
        rest = replace(rest, since=None, until=None)
    values = snapshot.metadata
    plain = {key: value for key, value in rest.metadata.items() if is_plain(value)}
    for key, value in plain.items():
        masks.append(values.rows_with(reader, space, snapshot.entry, key, value))
    others = {key: value for key, value in rest.metadata.items() if key not in plain}
    rest = replace(rest, metadata=others)
    if rest != Filter():
        masks.append(values.matching(reader, space, snapshot.entry, rest))
    return masks


def _bounds(condition: Filter) -> list[datetime]:
    return [bound for bound in (condition.since, condition.until) if bound is not None]


def _time_masks(snapshot: Snapshot, condition: Filter) -> list[Mask]:
    masks: list[Mask] = []
    for bound, is_met in ((condition.since, np.greater_equal), (condition.until, np.less)):
        if bound is None:
            continue
        at = snapshot.items.at  # NaN, where no time is known, is neither before nor after
        if bound.tzinfo is None:
            at = at + 60.0 * snapshot.zone
        masks.append(is_met(at, micros(bound) / 1e6))
    return masks


def _among(column: Labels, codes: list[int]) -> Mask:
    """Return where a column has one of some codes."""
    if len(codes) > FEW_CODES:
        mask: Mask = np.isin(column, np.array(codes, dtype=column.dtype))
        return mask
    mask = np.zeros(len(column), dtype=np.bool_)
    for code in codes:
        mask |= column == code
    return mask
