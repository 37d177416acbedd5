"""What a change adds and deletes: the records alone, which need no parser."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CodeStatement:
    """A normalised AST node: equal texts of equal type are the same, wherever they stand.

    ``source`` is how it is written, without the blocks in it.
    """

    type: str
    text: str
    first_line: int = field(compare=False)
    last_line: int = field(compare=False)
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class CodeDelta:
    """Δ = (Δ_add, Δ_del): statements only in the newer and only in the older version."""

    added: frozenset[CodeStatement] = frozenset()
    deleted: frozenset[CodeStatement] = frozenset()

    def reversed_by(self, later: CodeDelta) -> frozenset[CodeStatement]:
        """Conf (eq. 9): what ``later`` deletes of the added, and adds of the deleted."""
        return (later.deleted & self.added) | (later.added & self.deleted)
