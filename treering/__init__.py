"""treering: a long-term memory for language models and agents."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treering.aio import AsyncMemory
    from treering.bulk.ingest import IngestReport, bulk_ingest
    from treering.chat.answer import Answer
    from treering.copying import SpaceCopy, copy_space
    from treering.errors import TreeringError
    from treering.journal.sqlite.backup import backup
    from treering.memory import Memory
    from treering.records import (
        Context,
        Entry,
        Filter,
        Forgotten,
        Hit,
        Passage,
        Receipt,
        Stats,
        Why,
    )

__all__ = [
    "Answer",
    "AsyncMemory",
    "Context",
    "Entry",
    "Filter",
    "Forgotten",
    "Hit",
    "IngestReport",
    "Memory",
    "Passage",
    "Receipt",
    "SpaceCopy",
    "Stats",
    "TreeringError",
    "Why",
    "backup",
    "bulk_ingest",
    "copy_space",
]

__version__ = "0.1.0"

_HOMES = {
    "Answer": "treering.chat.answer",
    "AsyncMemory": "treering.aio",
    "IngestReport": "treering.bulk.ingest",
    "Memory": "treering.memory",
    "SpaceCopy": "treering.copying",
    "TreeringError": "treering.errors",
    "backup": "treering.journal.sqlite.backup",
    "bulk_ingest": "treering.bulk.ingest",
    "copy_space": "treering.copying",
}


def __getattr__(name: str) -> object:
    """Import what is asked for on first use.

    Numerics and the model runtime take most of a second, which ``treering --help`` need not pay.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "treering.records")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
