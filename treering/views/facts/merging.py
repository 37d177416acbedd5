"""Merges what several readers state of one sentence: each fact once, and in full. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from treering.views.facts.form import DOES
from treering.views.facts.record import Statement

_ARTICLE = re.compile(r"\b(?:the|an?|my|our|old|new) ")
_GOES_ON_AS = re.compile(
    r" (?:(?:in|near|of|outside|by) (?:the )?[^\W\da-z_]"
    r"|(?:over|under|above|behind|beside|outside|near) (?:the|our|my) \w+$"
    r"|(?!(?:and|or|but|with|without|for|from|to|at|in|on|by|of|near|as|than|who|which|that|"
    r"the|an?|my|our|is|are|was|has|have|had|now|again|too|permanently|instead)\b)[a-z-]+$)"
    r"|, [a-z]+ \d[\w/-]*$"
)
"""How a value goes on that was cut: "house in Évora", "the Porto office"."""


def merged(read: Iterable[Statement]) -> list[Statement]:
    """The statements of one sentence, each once, though both a form and a clause give it."""
    statements: list[Statement] = []
    for statement in read:
        place = next((n for n, other in enumerate(statements) if _repeats(statement, other)), None)
        if place is None:
            statements.append(statement)
        elif _says_more(statement, statements[place]):
            statements[place] = statement
        elif goes_on := _going_on(statement, statements[place]):
            statements[place] = replace(statements[place], value=goes_on)
    return statements


def _going_on(statement: Statement, other: Statement) -> str:
    """The value of another statement with what this one has behind it: "house" is "in Évora"."""
    if other.sense != "begins" or not statement.slot.startswith(DOES):
        return ""
    before, value, after = statement.value.partition(other.value)
    is_more = value and before and not value[-1].isdigit() and _GOES_ON_AS.match(after)
    return value + after if is_more else ""


def _repeats(statement: Statement, other: Statement) -> bool:
    """Whether a statement says of a sentence what another one has said of it already."""
    value, before = _core(statement.value), _core(other.value)
    if (statement.subject, statement.slot) == (other.subject, other.slot):
        is_same = statement.sense == other.sense
        if statement.slot.startswith(DOES):
            return is_same and (value in before or before in value)
        return is_same or value == before
    if statement.sense == "begins" and other.value.startswith("have a new "):
        return False  # "a new dentist, Dr Wu" is more than something that one has
    return value in before or (before in value and statement.slot.startswith(DOES))


def _says_more(statement: Statement, other: Statement) -> bool:
    """Whether of two statements of one habit the later is better: longer, or a shorter end."""
    if statement.slot != other.slot:
        return False
    if not statement.slot.startswith(DOES):  # "16 and a half" says more than "16"
        value, before = statement.value, other.value
        return value.startswith((f"{before} ", f"{before}, ", f"{before}."))
    is_longer = len(_core(statement.value)) > len(_core(other.value))
    return is_longer != (statement.sense == "ends") and _core(statement.value) != _core(other.value)


def _core(value: str) -> str:
    return _ARTICLE.sub("", value.casefold())
