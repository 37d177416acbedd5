"""treering: a long-term memory for language models and agents."""

from __future__ import annotations

from treering.answer import Answer
from treering.errors import TreeringError
from treering.memory import Memory
from treering.records import Context, Entry, Filter, Forgotten, Hit, Passage, Receipt, Stats, Why

__all__ = [
    "Answer",
    "Context",
    "Entry",
    "Filter",
    "Forgotten",
    "Hit",
    "Memory",
    "Passage",
    "Receipt",
    "Stats",
    "TreeringError",
    "Why",
]

__version__ = "0.1.0"
