"""Snapshots: the fragments of a space as columns, at one moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats
from treering.journal.space import EmbeddingModel, SpaceReader, SpaceState
from treering.records import Kind, Progress
from treering.search.lexical import Lexical
from treering.search.metadata import Metadata
from treering.search.names import Names
from treering.search.reading import RowChange
from treering.search.relations.contract import Items, Labels, cosines
from treering.search.terms import Terms
from treering.split import Span

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Doubt:
    """How far scores may be off until they are computed from the vectors as they were embedded.

    A cosine counts as off by ``steps`` between two codes of a unit vector in eight bits. ``rows``
    behind the k best are computed as well where they may belong before them.
    """

    steps: float
    rows: int


EIGHT_BITS: Final = Doubt(steps=3.0, rows=24)
"""Rounding row and query leaves a cosine off by .4 of a step (the standard deviation), and what
relations add by less, as that is a mean of many: of two scores ten such deviations."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How the cosines of all rows are spread, where most are missing.

    ``centre`` and ``deviation``, shape (Q,), are those of the cosines of all rows. The scores of
    ``sample``, rows drawn by chance, show how those of the others are spread.
    """

    centre: Floats
    deviation: Floats
    sample: Codes


@dataclass(frozen=True, slots=True)
class Cosines:
    """Cosines of N rows with Q queries, shape (N, Q), a query's column contiguous.

    ``known`` has the rows by query, ascending, whose cosines need not be computed again. Where a
    ``spread`` is given, all other rows are at the mean of all.
    """

    values: Floats
    known: Sequence[Codes] = ()
    spread: Spread | None = None
    doubt: Doubt = EIGHT_BITS


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows whose cosines a search needs, for a space that cannot compute all.

    ``allowed`` returns the mask of the rows that meet the filter, None for all. ``favoured`` are
    masks by query of rows that get a bonus. ``promising`` returns, by query, the best rows by the
    cosines that are known so far, and the rows near them; ascending.
    """

    allowed: Callable[[], Mask | None]
    favoured: Sequence[Mask | None]
    promising: Callable[[Cosines], Sequence[Codes]]


class CosineSource(Protocol):
    """Where the cosines of a snapshot come from."""

    def __call__(
        self, items: Items, queries: Floats, bm25: Floats | None, wanted: Wanted | None
    ) -> Cosines:
        """The cosines of rows with the vectors of queries, whose BM25 scores are given."""
        ...


def all_cosines(
    items: Items,
    queries: Floats,
    bm25: Floats | None,  # noqa: ARG001
    wanted: Wanted | None,  # noqa: ARG001
) -> Cosines:
    """The cosines of all rows, by vectors in main memory."""
    return Cosines(cosines(items.vectors, queries))


@dataclass(slots=True)
class Snapshot:
    """What a search works on: a state of the fragments that does not change under it."""

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


class FragmentSource(Protocol):
    """Where the fragments of a space come from: columns held in memory, kept in step with it.

    Of a space that is too large for that, vectors and terms stay in the database, and searches get
    what the database finds.
    """

    def reading(self) -> AbstractContextManager[tuple[SpaceReader, Snapshot | None]]:
        """A read transaction and the fragments as of it; None while the space has none."""
        ...

    def searching(
        self, queries: Sequence[Terms]
    ) -> AbstractContextManager[tuple[SpaceReader, Snapshot | None]]:
        """As ``reading``, for a search: it may have no other terms than those of the queries."""
        ...

    def exact(self, reader: SpaceReader, model: EmbeddingModel, numbers: Codes) -> Floats:
        """Vectors by their numbers, as they were embedded; zeros for number 0."""
        ...

    def spans(self, reader: SpaceReader, fragments: Sequence[int]) -> dict[int, Span]:
        """Start and stop of fragments in the texts of their entries, by id."""
        ...

    def settle(self, progress: Progress | None = None) -> None:
        """Do what is left to do for searches. Raises JournalError."""
        ...
