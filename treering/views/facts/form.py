"""A form of sentences that state a fact: an expression, and an example that it reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from treering.views.facts.literals import literal
from treering.views.facts.phrases import ONESELF, OTHER, SUBJECT

Sense = Literal["holds", "begins", "ends"]
"""What a statement speaks of: how things are, a change to that, or the end of it."""

DOES: Final = "does:"
"""The prefix of the slots of habits and states; the verb follows. Only an end supersedes them."""


@dataclass(frozen=True, slots=True)
class Form:
    """One form. A sentence must hold one of the ``hints`` (lower-case words), if there are any.

    ``example`` is a sentence that this form is the first to match, and ``value`` what it reads.
    """

    slot: str
    sense: Sense
    hints: frozenset[str]
    expression: str
    example: str
    value: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled when a sentence first has a hint: of most texts few do."""
        return _compiled(self.expression)

    def search(self, clause: str, starts: Iterable[int]) -> re.Match[str] | None:
        """The first match in a clause, given the places of all matches of ``STARTS`` in it.

        To try an expression at the few places where a subject may begin takes a tenth of the time
        of a search, which tries it everywhere.
        """
        if _literal(self.expression) not in clause:
            return None
        pattern = _compiled(self.expression)
        if self.expression.startswith("^"):
            return pattern.match(clause)
        if not self.expression.startswith(_SUBJECTS):
            return pattern.search(clause)
        for start in starts:
            match = pattern.match(clause, start)
            if match is not None:
                return match
        return None


_SUBJECTS: Final = (SUBJECT, ONESELF, OTHER)


_literal = cache(literal)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def form(
    slot: str,
    sense: Sense,
    hints: str,
    pattern: str,
    example: str,
    value: str,
    *,
    who: str = SUBJECT,
) -> Form:
    """A form whose sentence has one of the ``hints``, and ``who`` as its subject."""
    return Form(slot, sense, frozenset(hints.split()), who + pattern, example, value)
