"""The ledger of a space: its size and quota, settings, and the costs of models.

A space has counters in its row. Withheld entries and the history of a space are in a hidden space,
which may hold as much again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from treering.errors import QuotaExceeded
from treering.journal import damage, entries
from treering.journal.contract import Reader, Writer
from treering.journal.space import SpaceReader, SpaceState, SpaceWriter
from treering.records import Spent

if TYPE_CHECKING:
    from treering.journal.writing import Draft


def counts(reader: SpaceReader) -> dict[str, int]:
    """How many entries, sources and files of indexed code a space has."""
    return {
        table: entries.count(reader, table, reader.id) for table in ("entry", "source", "code_file")
    }


CHOICES: Final = "choices"
"""Among the settings those that have one value each."""


def settings(reader: SpaceReader) -> dict[str, Any]:
    """The settings of a space: the relations that ``fit`` chose, and how its tree grows."""
    return _settings(reader.state)


def _settings(state: SpaceState) -> dict[str, Any]:
    with damage.decoding("what `treering fit` found"):
        stored: dict[str, Any] = damage.checked(dict, json.loads(state.settings))
    return stored


def choice(state: SpaceState, name: str, default: str) -> str:
    """Return one of the settings that have one value each."""
    choices = _settings(state).get(CHOICES)
    value = choices.get(name) if isinstance(choices, dict) else None
    return value if isinstance(value, str) else default


def save_settings(writer: SpaceWriter, settings: dict[str, Any]) -> None:
    """Keep the settings of a space."""
    writer.set_settings(json.dumps(settings))


def spend(writer: SpaceWriter, cost: Spent) -> None:
    """Add a cost to the ledger, unless the space is gone, removed while its model was at work."""
    if not writer.is_there:
        return
    writer.execute(
        "INSERT INTO spent (space, operation, model, calls, prompt_tokens, completion_tokens)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (space, operation, model) DO UPDATE SET"
        " calls = spent.calls + excluded.calls,"
        " prompt_tokens = spent.prompt_tokens + excluded.prompt_tokens,"
        " completion_tokens = spent.completion_tokens + excluded.completion_tokens",
        (
            writer.id,
            cost.operation,
            cost.model,
            cost.calls,
            cost.prompt_tokens,
            cost.completion_tokens,
        ),
    )


def spent(reader: Reader, space: int) -> tuple[Spent, ...]:
    """Return the costs of models, by operation."""
    rows = reader.rows(
        "SELECT operation, model, calls, prompt_tokens, completion_tokens FROM spent"
        " WHERE space = ? ORDER BY operation, model",
        (space,),
    )
    return tuple(Spent(*row) for row in rows)


# ------------------------------------------------------------------- size and quota


class Size(NamedTuple):
    """Entries, and the bytes of their texts and metadata in UTF-8."""

    entries: int = 0
    bytes: int = 0

    @classmethod
    def measure(cls, drafts: Iterable[Draft]) -> Self:
        """Return the size of drafts once they are stored."""
        sizes = [len(draft.text.encode()) + len(draft.metadata.encode()) for draft in drafts]
        return cls(len(sizes), sum(sizes))


@dataclass(frozen=True, slots=True)
class Quota:
    """The most that each space may hold; None for any number."""

    entries: int | None = None
    bytes: int | None = None

    def limits(self) -> dict[str, int]:
        """Return the limits that are set, by name."""
        limits = {"entries": self.entries, "bytes": self.bytes}
        return {name: limit for name, limit in limits.items() if limit is not None}

    def ensure_room(self, reader: SpaceReader, more: Size) -> None:
        """Raise QuotaExceeded unless the space has room for so much more."""
        if self == UNLIMITED:
            return
        there = read_size(reader)
        for what, limit in self.limits().items():
            needed = getattr(there, what) + getattr(more, what)
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


def count_size(writer: Writer, size: Size, assistant: int = 0) -> None:
    """Add to the counters of a space; ``assistant`` are messages of an assistant."""
    if size != Size() or assistant:
        writer.execute(
            "UPDATE space SET entries = entries + ?, bytes = bytes + ?, assistant = assistant + ?"
            " WHERE id = ?",
            (*size, assistant, writer.space),
        )
