"""Snapshots: the fragments of a space as columns, at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats
from treering.journal.space import EmbeddingModel, SpaceReader, SpaceState
from treering.records import Kind, Progress
from treering.search.lexical import Lexical
from treering.search.metadata import Metadata
from treering.search.names import Names
from treering.search.reading import RowChange
from treering.search.relations.contract import Items, Labels
from treering.search.terms import Terms
from treering.split import Span


@dataclass(frozen=True, slots=True)
class FoundCosines:
    """Cosines of some rows with Q queries, shape (N, Q); the mean of all in the place of others.

    ``centre`` and ``deviation``, shape (Q,), are those of the cosines of all rows. ``rows`` have
    been looked up, query by query. ``sample`` are rows drawn by chance, whose scores tell how those
    of the others are spread.
    """

    values: Floats
    centre: Floats
    deviation: Floats
    rows: list[Codes]
    sample: Codes


@dataclass(frozen=True, slots=True)
class FoundChange:
    """Rows, ascending, whose cosines with a query were looked up, and by how much each changed."""

    rows: Codes
    change: Floats


class Outside(Protocol):
    """The vectors of a snapshot that stay in the database, where the nearest are looked for."""

    def cosines(
        self,
        queries: Floats,
        bm25: Floats | None,
        allowed: NDArray[np.bool_] | None,
        favoured: Sequence[NDArray[np.bool_] | None] = (),
    ) -> FoundCosines:
        """The cosines of the nearest and of the best by words that are ``allowed``.

        Those of the rows that a query favours, by query, are looked for once more among these.
        """
        ...

    def add(self, found: FoundCosines, rows: Codes, query: int, vector: Floats) -> FoundChange:
        """Look up the cosines of more rows, given ascending, with the vector of a query."""
        ...

    def looked_up(self, rows: Codes, vector: Floats) -> Floats:
        """The cosines of some embedded rows with the vector of a query."""
        ...


@dataclass(slots=True)
class Snapshot:
    """What a search works on: a state of the fragments that does not change under it."""

    fragment: Codes
    entry: Codes
    kind: NDArray[np.int8]
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
    outside: Outside | None = None  # where the vectors are, if they are not here

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
