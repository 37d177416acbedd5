"""What a clause states, before it is known whose entry it stands in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Assertion:
    """What a clause states. ``subject`` is ``"I"``, or the words for something, as "my dentist".

    The slot is empty for habits and states: their value says all, its first word being the verb.
    """

    subject: str
    slot: str
    value: str
    sense: Literal["holds", "begins", "ends"]
