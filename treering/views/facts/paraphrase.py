"""A turn of phrase with the plain wording that it stands for, and an example. No I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from treering.views.facts.literals import literal, openings


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A wording and the plain one. A sentence must hold one of the ``hints``, in lower case."""

    hints: str
    expression: str
    plain: str
    example: str
    read: str

    def may_apply(self, small: str) -> bool:
        """Whether a sentence of ASCII, in small letters, has the text that the wording must have.

        The expression then need not be tried, which takes much longer.
        """
        first, text = _needed(self.expression)
        return small.startswith(first) and text in small

    def applied(self, sentence: str) -> str:
        """A sentence in plain wording."""
        pattern = _compiled(self.expression)
        if not self.expression.startswith("^"):
            return pattern.sub(self.plain, sentence)
        match = pattern.match(sentence)  # tried at the beginning alone: ``sub`` tries everywhere
        return sentence if match is None else match.expand(self.plain) + sentence[match.end() :]


@cache
def _needed(expression: str) -> tuple[tuple[str, ...], str]:
    first = openings(expression) if expression.startswith("^") else ("",)
    return tuple(map(str.lower, first)), literal(expression).lower()


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)
