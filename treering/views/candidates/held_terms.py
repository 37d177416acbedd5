"""Postings of words that were asked for, held in main memory up to a size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

from treering.search.term_postings import RowCounts

A_TERM: Final = 400
"""Bytes that a term takes beside its postings."""


class HeldTerms:
    """The postings of the terms that were asked for last. Safe to use from many threads.

    They are of one state of the blocks that they stand in; another state begins anew.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._lock = threading.Lock()  # protects what follows
        self._state: Hashable = None
        self._held: OrderedDict[int, RowCounts] = OrderedDict()
        self._size = 0

    @property
    def size(self) -> int:
        """The bytes that they take."""
        return self._size

    def of(self, state: Hashable, terms: Sequence[int]) -> dict[int, RowCounts]:
        """The postings of those terms that are held of a state."""
        with self._lock:
            if state != self._state:
                return {}
            held = {term: self._held[term] for term in terms if term in self._held}
            for term in held:
                self._held.move_to_end(term)
            return held

    def hold(self, state: Hashable, postings: Mapping[int, RowCounts]) -> None:
        """Hold postings of a state; those that were asked for longest ago make room for them."""
        with self._lock:
            if state != self._state:
                self._state, self._size = state, 0
                self._held.clear()
            for term, rows in postings.items():
                if term not in self._held:
                    self._held[term] = rows
                    self._size += _size(rows)
            while self._size > self._room:
                _, rows = self._held.popitem(last=False)
                self._size -= _size(rows)


def _size(rows: RowCounts) -> int:
    return A_TERM + rows.rows.nbytes + rows.counts.nbytes
