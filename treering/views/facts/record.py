"""What the view keeps. Apart from how it is read, whose patterns take as long to compile as half of
treering to import: only who reads a text waits for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from treering.views.facts.form import Sense

BOTS: Final = frozenset({"assistant", "system", "tool"})
"""Roles whose messages state nothing."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that gives ``subject`` a ``value`` in a ``slot``.

    ``start`` and ``stop`` are the sentence's character offsets in its entry.
    """

    subject: str
    slot: str
    value: str
    sense: Sense
    start: int
    stop: int
