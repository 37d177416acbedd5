"""Marks: facts that views know against a text to be shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treering.journal.space import SpaceReader
from treering.records import Entry, Newer
from treering.split import Span


@dataclass(frozen=True, slots=True)
class Quote:
    """A piece of an entry to be shown: a fragment at ``span`` in the text."""

    seq: int
    entry: Entry
    text: str
    span: Span = (0, 0)

    @classmethod
    def whole(cls, seq: int, entry: Entry) -> Quote:
        """Return an entry that is shown as it is."""
        return cls(seq, entry, entry.text)


@dataclass(frozen=True, slots=True)
class Mark:
    """The facts of views about a quote.

    ``superseded_by`` is the statement that holds instead, ``stale`` one that dates it.
    """

    superseded_by: Newer | None = None
    stale: Newer | None = None

    def join(self, other: Mark) -> Mark:
        """Return this mark; its open fields are those of the other."""
        return Mark(
            superseded_by=self.superseded_by or other.superseded_by,
            stale=self.stale or other.stale,
        )


UNMARKED = Mark()

Marker = Callable[[SpaceReader, Sequence[Quote]], Sequence[Mark]]
"""Gives every quote its mark, in the order of the quotes."""


def mark_nothing(_reader: SpaceReader, quotes: Sequence[Quote]) -> Sequence[Mark]:
    """Mark nothing."""
    return [UNMARKED] * len(quotes)
