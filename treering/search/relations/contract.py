"""A relation is a linear operator on a score vector (SPEC: FragRel, eq. 9 and 10).

FragRel scores fragment i by ``own[i] + Σ_r α_r · env_r[i]`` with ``env = W·own / W·1``. No W is
ever built: a relation that can propagate a score vector is all that is needed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats
from treering.scratch import lent

Labels = NDArray[np.integer[Any]]
"""Codes or counts, in 32 or 64 bits."""

MISSING = -1
"""The code of an item without a document, session or speaker."""


Flags = NDArray[np.bool_]
Ints = NDArray[np.int32]


class Matrix(Protocol):
    """The vectors of items, with an array's products and rows.

    ``np.asarray`` turns a matrix into an array, without a copy if it is one.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...  # noqa: D102

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...

    def __matmul__(self, other: Any, /) -> Any: ...


class StackedMatrix:
    """Matrices one below the other, read as one matrix without copying them."""

    def __init__(self, *parts: Matrix) -> None:
        self._parts = parts
        self._starts = np.cumsum([0, *map(len, parts)]).tolist()
        self.shape = (int(self._starts[-1]), parts[0].shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: int | slice) -> Floats:
        """One row, or those of a slice without a step."""
        if isinstance(rows, slice):
            first, last, _ = rows.indices(len(self))
            spans = zip(self._parts, self._starts, strict=False)
            return np.concatenate(
                [part[max(first - at, 0) : max(last - at, 0)] for part, at in spans]
            )
        which = bisect_right(self._starts, rows) - 1
        row: Floats = self._parts[which][rows - self._starts[which]]
        return row

    def __matmul__(self, other: Floats) -> Floats:
        return np.concatenate([part @ other for part in self._parts])

    def cosines(self, queries: Floats) -> Floats:
        """``self @ queries.T``, shape (N, Q), a query's column contiguous."""
        result = lent((len(self), len(queries)))
        for part, start in zip(self._parts, self._starts, strict=False):
            result[start : start + len(part)] = cosines(part, queries)
        return result

    def project(self, scores: Floats) -> Floats:
        """``self.T @ scores``, shape (d,) or (d, Q)."""
        spans = zip(self._parts, self._starts, strict=False)
        rows = [(part, scores[start : start + len(part)]) for part, start in spans]
        parts = [
            part.project(of_part)
            if isinstance(part, ProjectedMatrix)
            else np.asarray(part).T @ of_part
            for part, of_part in rows
        ]
        total: Floats = np.sum(parts, axis=0, dtype=np.float32)
        return total

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        whole: Floats = np.concatenate([np.asarray(part) for part in self._parts])
        return whole if dtype is None else whole.astype(dtype)


@runtime_checkable
class SearchedMatrix(Matrix, Protocol):
    """A matrix that has a product of its own with the vectors of queries."""

    def cosines(self, queries: Floats) -> Floats:
        """``self @ queries.T`` for unit rows, shape (N, Q), a query's column contiguous."""
        ...


@runtime_checkable
class ProjectedMatrix(Matrix, Protocol):
    """A matrix whose transpose has a product of its own."""

    def project(self, scores: Floats) -> Floats:
        """``self.T @ scores`` for scores of shape (N,) or (N, Q): (d,) or (d, Q)."""
        ...


def cosines(vectors: Matrix, queries: Floats) -> Floats:
    """``vectors @ queries.T`` for unit rows, shape (N, Q), a query's column contiguous.

    A search reads column by column; the plain product would lay out rows.
    """
    if isinstance(vectors, SearchedMatrix):
        return vectors.cosines(queries)
    # Stored vectors are finite: a warning is about memory behind a short row that BLAS ignores.
    with np.errstate(invalid="ignore"):
        likeness: Floats = (queries @ np.asarray(vectors).T).T
    return likeness


@dataclass(frozen=True, slots=True)
class ReadingOrder:
    """``rows`` in the order in which they are read, source by source; flags by place in it.

    ``follows`` tells whether the row before is of the same source, ``continues`` whether it is of
    the same source and session. ``is_plain`` says that row i is at place i. The rows of
    ``sources[i]``, which ascend, are at the places from ``firsts[i]`` to ``firsts[i + 1]``.
    """

    rows: Ints
    follows: Flags
    continues: Flags
    is_plain: bool
    sources: Ints
    firsts: Codes

    def places(self, source: NDArray[Any], rank: NDArray[Any]) -> Codes:
        """Return the places of rows, given their source and their rank in it."""
        places: Codes = self.firsts[np.searchsorted(self.sources, source)] + rank
        return places

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class RowChange:
    """The change of a space from the state of version ``before``.

    ``gone`` are the rows of that state that went, ascending; ``added`` rows came, at the end.
    ``places`` in the new reading order, ascending, are new or follow another row than before.
    """

    before: int
    gone: Codes
    added: int
    places: Codes


def fill_times(at: NDArray[np.float64], source: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return times in reading order, shape (N,), with gaps (NaN) filled.

    A gap gets the last time before it in its source, or else the next after it. It stays NaN in a
    source without any time.
    """
    return _fill_forward(_fill_forward(at, source)[::-1], source[::-1])[::-1]


def _fill_forward(at: NDArray[np.float64], source: NDArray[np.int64]) -> NDArray[np.float64]:
    # ``last`` is the place of the newest time seen so far; it counts only within the same source.
    place = np.arange(len(at))
    last = np.maximum.accumulate(np.where(np.isnan(at), -1, place))
    same = (last >= 0) & (source[last] == source)
    return np.where(same, at[last], np.nan)


class StoredColumns(Protocol):
    """What a space stores of its items besides their columns, read when a relation asks for it."""

    def values(self, key: str) -> Labels:
        """The codes of the values of a key of metadata, shape (N,), MISSING for no such key."""
        ...

    def citations(self) -> tuple[Codes, Codes]:
        """Items whose texts name a source, and the document of that source for each."""
        ...


@dataclass(frozen=True, slots=True)
class Items:
    """The N items of one space that scores are about, as columns of equal length, in any order.

    ``document``, ``session`` and ``speaker`` are codes (equal code, same group; ``MISSING`` for
    none); ``position`` orders the items of one document; ``at`` is in seconds since the epoch, NaN
    if unknown; ``vectors`` has unit rows, shape (N, d), and an all-zero row for an item that is not
    embedded. ``fragment`` identifies items that come from the database. ``reading`` is their order
    by document and position; items that are not in it have no document, and positions leave no
    gaps. ``message`` has the codes of the messages of chats that they are pieces of. ``stored``
    reads further columns.
    """

    document: Labels
    position: Labels
    session: Labels
    speaker: Labels
    at: NDArray[np.float64]
    vectors: Matrix
    fragment: Codes | None = None
    reading: ReadingOrder | None = None
    message: Labels | None = None
    stored: StoredColumns | None = None

    def __len__(self) -> int:
        return len(self.document)


class Operator(Protocol):
    """W, bound to N items."""

    def propagate(self, scores: Floats) -> Floats:
        """``W·scores`` for scores of shape (N,) or, one column a query, (N, Q); a new array."""
        ...

    def mass(self) -> Floats:
        """``W·1``, shape (N,); zero where an item is related to nothing."""
        ...


@dataclass(frozen=True, slots=True)
class NullOperator:
    """W = 0 over ``size`` items: the relation adds no term."""

    size: int

    def propagate(self, scores: Floats) -> Floats:
        """Zeros, in the shape of the scores."""
        return np.zeros_like(scores)

    def mass(self) -> Floats:
        """Zeros, shape (N,)."""
        return np.zeros(self.size, dtype=np.float32)


class LocalOperator(Operator, Protocol):
    """An operator whose scores go no further than to a few items beside each."""

    def near(self, items: Codes, least: float) -> Codes:
        """These items and others that a share of at least ``least`` of a score reaches, sorted."""
        ...

    def among(self, items: Codes, scores: Floats) -> Floats:
        """``W·scores`` at some items, given ascending, where all others have the score 0."""
        ...


def is_local(operator: Operator) -> TypeGuard[LocalOperator]:
    """Return whether an operator is a ``LocalOperator``.

    ``isinstance`` of a protocol would take a tenth of a search of 10,000 fragments.
    """
    return hasattr(operator, "near") and hasattr(operator, "among")


@runtime_checkable
class Relation(Protocol):
    """A kind of relatedness: frozen parameters that bind to items.

    ``name`` is the key in ``Hit.why``; two relations of one search must not share it.

    A relation whose ``bind`` is expensive may offer ``rebind(before, items, change)``: it returns
    the operator over ``items`` from ``before``, that over the items before ``change``, or None if
    it must be bound from scratch. ``before`` is in use and must not change.
    """

    @property
    def name(self) -> str:
        """The relation's name, such as ``context``."""
        ...

    def bind(self, items: Items) -> Operator:
        """The operator of this relation over ``items``."""
        ...


def is_relation(term: object) -> TypeGuard[Relation]:
    """Return whether a term of a plan is a relation."""
    return hasattr(term, "bind")


RelationFactory = Callable[..., Relation]
"""An entry point of the group ``treering.relations``: keyword parameters to a relation."""


def by_column(propagate: Callable[[Floats], Floats], scores: Floats) -> Floats:
    """``propagate`` of scores of shape (N,), or of each column of (N, Q); the same shape."""
    if scores.ndim == 1:
        return propagate(scores)
    if scores.shape[1] == 1:
        return propagate(scores[:, 0])[:, None]  # as it is, without a copy
    result = np.empty_like(scores)
    for column in range(scores.shape[1]):
        result[:, column] = propagate(scores[:, column])
    return result
