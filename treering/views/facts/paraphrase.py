"""A turn of phrase with the plain wording that it stands for, and an example. No I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """A wording and the plain one. A sentence must hold one of the ``hints``, in lower case."""

    hints: str
    expression: str
    plain: str
    example: str
    read: str

    def applied(self, sentence: str) -> str:
        """A sentence in plain wording."""
        pattern = _compiled(self.expression)
        if not self.expression.startswith("^"):
            return pattern.sub(self.plain, sentence)
        match = pattern.match(sentence)  # tried at the beginning alone: ``sub`` tries everywhere
        return sentence if match is None else match.expand(self.plain) + sentence[match.end() :]


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)
