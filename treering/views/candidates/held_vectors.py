"""Vectors of the fragments that a filter keeps, held in main memory up to a size."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from treering.arrays import Codes, Floats
from treering.search.snapshot import Snapshot

ROOM: Final = 64 << 20
"""Bytes of vectors that are held: those of 40,000 fragments by a model of 384 dimensions."""

MOST_SEEN: Final = 256
"""Filters that are known to have been asked for once."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """Fragments by id, the numbers of their vectors, and these, (n, d)."""

    fragment: Codes
    number: Codes
    vectors: Floats

    def is_in(self, snapshot: Snapshot) -> bool:
        """Whether nothing of it was erased."""
        assert snapshot.vector_number is not None  # the columns of a space have them
        rows = np.searchsorted(snapshot.fragment, self.fragment)
        rows = np.minimum(rows, len(snapshot) - 1)
        is_there = snapshot.fragment[rows] == self.fragment
        is_there &= snapshot.vector_number[rows] == self.number
        return bool(is_there.all())


class FilteredVectors:
    """The vectors of rows that filters keep. Safe to use from many threads.

    The same rows are asked for again and again by whoever asks within a filter. To look up their
    cosines in the database takes three microseconds a row, nearly all of it to fetch the row.
    Vectors are held from the second time on, up to ``room`` bytes; those that were asked for
    longest ago make room.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._lock = threading.Lock()  # protects what follows
        self._revision = -1
        self._seen: OrderedDict[bytes, None] = OrderedDict()
        self._held: OrderedDict[bytes, _Kept] = OrderedDict()

    @property
    def size(self) -> int:
        """The bytes of the vectors."""
        return sum(kept.vectors.nbytes for kept in self._held.values())

    def of(
        self, snapshot: Snapshot, rows: Codes, dimension: int, read: Callable[[Codes], Floats]
    ) -> Floats | None:
        """The vectors of embedded rows of a snapshot, which are read once; None where they are not
        held.
        """
        assert snapshot.vector_number is not None
        number = snapshot.vector_number[rows]
        if len(rows) * dimension * np.dtype(np.float32).itemsize > self._room:
            return None
        key = hashlib.blake2b(np.ascontiguousarray(number).tobytes(), digest_size=16).digest()
        with self._lock:
            self._drop_erased(snapshot)
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key].vectors
            if key not in self._seen:
                self._seen[key] = None
                while len(self._seen) > MOST_SEEN:
                    self._seen.popitem(last=False)
                return None
        kept = _Kept(snapshot.fragment[rows], number, read(rows))
        with self._lock:
            # Another thread may have seen a later state meanwhile, in which some are erased.
            if self._revision == snapshot.state.revision:
                self._held[key] = kept
                while self.size > self._room:
                    self._held.popitem(last=False)
        return kept.vectors

    def _drop_erased(self, snapshot: Snapshot) -> None:
        """Hold nothing of which some was erased."""
        if self._revision < snapshot.state.revision:
            self._revision = snapshot.state.revision
            for key, kept in list(self._held.items()):
                if not kept.is_in(snapshot):
                    del self._held[key]
