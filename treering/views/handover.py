"""Entries that were just stored, on their way to the views of the same process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from treering.journal.writing import Stored

MOST_ENTRIES = 4_096
MOST_CHARS = 1 << 22
"""What adds more at once has its entries read back: that takes a fifth longer, and no memory."""


class Handover:
    """What an ``add`` stored, kept until the views have read it.

    Reading it back from the database and comparing it with its digest would take as long as storing
    it. What another process reads first, or what is too much, is let go: it is read as any other.
    """

    def __init__(self) -> None:
        self._stored: dict[int, Stored] = {}
        self._chars = 0  # of their texts

    def put(self, stored: Mapping[int, Stored]) -> None:
        """Hand entries over, by sequence number; once they are durable."""
        chars = sum(len(each.entry.text) for each in stored.values())
        if len(self._stored) + len(stored) > MOST_ENTRIES or self._chars + chars > MOST_CHARS:
            self.clear()
        if len(stored) <= MOST_ENTRIES and chars <= MOST_CHARS:
            self._stored.update(stored)
            self._chars += chars

    def all(self) -> dict[int, Stored]:
        """Return all that were handed over, in the order they were stored."""
        return dict(sorted(self._stored.items()))

    def of(self, seqs: Iterable[int]) -> dict[int, Stored]:
        """Those of some entries that were handed over, in the order given."""
        stored = self._stored
        return {seq: stored[seq] for seq in seqs if seq in stored} if stored else {}

    def clear(self) -> None:
        """Let go of all: the texts of entries that are erased must not stay in main memory."""
        self._stored, self._chars = {}, 0
