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
from treering.records import Kind
from treering.search.lexical import Lexical
from treering.search.metadata import Metadata
from treering.search.names import Names
from treering.search.reading import RowChange
from treering.search.relations.contract import Items, Labels
from treering.split import Span


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

    def __len__(self) -> int:
        return len(self.fragment)


class FragmentSource(Protocol):
    """Where the fragments of a space come from: columns held in memory, kept in step with it."""

    def reading(self) -> AbstractContextManager[tuple[SpaceReader, Snapshot | None]]:
        """A read transaction and the fragments as of it; None while the space has none."""
        ...

    def exact(self, reader: SpaceReader, model: EmbeddingModel, numbers: Codes) -> Floats:
        """Vectors by their numbers, as they were embedded; zeros for number 0."""
        ...

    def spans(self, reader: SpaceReader, fragments: Sequence[int]) -> dict[int, Span]:
        """Start and stop of fragments in the texts of their entries, by id."""
        ...
