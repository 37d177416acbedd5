"""How much each space may hold: its entries, and the bytes of their texts and metadata.

A space has counters in its row. Withheld entries and the history of a space are in a
hidden space, which may hold as much again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

from treering.errors import QuotaExceeded
from treering.journal.contract import Writer

if TYPE_CHECKING:
    from treering.journal.space import SpaceReader, SpaceWriter
    from treering.journal.writing import Draft


class Size(NamedTuple):
    """Entries, and the bytes of their texts and metadata in UTF-8."""

    entries: int = 0
    bytes: int = 0

    @classmethod
    def measure(cls, drafts: Iterable[Draft]) -> Self:
        """Return the size of drafts once they are stored."""
        sizes = [len(draft.text.encode()) + len(draft.metadata.encode()) for draft in drafts]
        return cls(len(sizes), sum(sizes))

    def plus(self, other: Size) -> Size:
        """Return the sum of two sizes."""
        return Size(self.entries + other.entries, self.bytes + other.bytes)

    def minus(self, other: Size) -> Size:
        """Return the difference of two sizes."""
        return Size(self.entries - other.entries, self.bytes - other.bytes)


@dataclass(frozen=True, slots=True)
class Quota:
    """The most that each space may hold; None for any number."""

    entries: int | None = None
    bytes: int | None = None

    def limits(self) -> dict[str, int]:
        """Return the limits that are set, by name."""
        limits = {"entries": self.entries, "bytes": self.bytes}
        return {name: limit for name, limit in limits.items() if limit is not None}

    def ensure_room(self, writer: SpaceWriter, more: Size) -> None:
        """Raise QuotaExceeded unless the space has room for so much more."""
        if self == UNLIMITED:
            return
        total = read_size(writer).plus(more)
        for what, limit in self.limits().items():
            needed = getattr(total, what)
            if needed > limit and getattr(more, what) > 0:
                raise QuotaExceeded(
                    f"the space may hold {limit} {what}, and would hold {needed} with this; "
                    "nothing was stored. Forget entries, or ask the owner of the server for more"
                )


UNLIMITED = Quota()


def read_size(reader: SpaceReader) -> Size:
    """Return the size of a space."""
    row = reader.row("SELECT entries, bytes FROM space WHERE id = ?", (reader.space,))
    return Size(*map(int, row)) if row else Size()


def count(writer: Writer, size: Size, assistant: int = 0) -> None:
    """Add to the counters of a space; ``assistant`` are messages of an assistant."""
    if size != Size() or assistant:
        writer.execute(
            "UPDATE space SET entries = entries + ?, bytes = bytes + ?, assistant = assistant + ?"
            " WHERE id = ?",
            (*size, assistant, writer.space),
        )
