"""How long a fragment may be: so many characters, words or tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal, Self, get_args

from treering.errors import InputError
from treering.split.text import MAX_FRAGMENT_CHARS

LengthUnit = Literal["characters", "words", "tokens"]
UNITS: Final[tuple[LengthUnit, ...]] = get_args(LengthUnit)

Lengths = Callable[[str], Sequence[float]]
"""The length of a text up to each of its characters: ascending, one number more than characters."""

_FORM: Final = re.compile(r"([0-9]{1,9}) ([a-z]+)")
_WORD: Final = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class FragmentSize:
    """The most that a fragment of text has. Code always has windows of lines."""

    count: int = MAX_FRAGMENT_CHARS
    unit: LengthUnit = "characters"

    @classmethod
    def parse(cls, text: str, what: str = "the size of fragments") -> Self:
        """Read ``500 words``. Raises InputError, which calls it ``what``."""
        match = _FORM.fullmatch(text) if isinstance(text, str) else None
        unit = next((unit for unit in UNITS if match and unit == match[2]), None)
        if match is None or unit is None or int(match[1]) < 1:
            raise InputError(
                f"{what} is {text!r}; it is a number from 1 to 999999999 and one of "
                f"{', '.join(UNITS)}, such as '500 words'"
            )
        return cls(int(match[1]), unit)

    @property
    def fits_models(self) -> bool:
        """Whether every model reads a whole fragment; else it is embedded in parts."""
        return self == type(self)()

    def __str__(self) -> str:
        return f"{self.count} {self.unit}"


def words_upto(text: str) -> Sequence[float]:
    """``Lengths`` in words, which white space separates."""
    starts = [0] * len(text)
    for word in _WORD.finditer(text):
        starts[word.start()] = 1
    return [*accumulate(starts, initial=0)]
