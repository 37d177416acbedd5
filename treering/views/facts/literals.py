"""Finds what every match of an expression holds, so that most texts need not be searched. No I/O.

``^it's (?:now )?(\\w+) for me`` matches in no text without " for me". What is found here comes from
the expression itself: who changes a rule has no second list to change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_ANY_NUMBER: Final = "?*{"
"""Quantifiers of what may be absent, or of which it is not looked how often it must be there."""

_NO_TEXT: Final = "^$.+"
_OF_ONESELF = re.compile(r"\b(?:I|we|my|our|me|us)\b")
_MUST_NAME_ONESELF = re.compile(
    r"\((?:\?:|\?P<\w+>)(?:my\|our|\[Mm\]y\|\[Oo\]ur|I\|we|me\|us|I)\)(?![?*{])|\[Mm\]y (?!\))"
)


def literal(expression: str) -> str:
    """The longest text that all matches hold; empty if there is none that is found easily."""
    return max(_texts(expression), key=len, default="")


def names_oneself(expression: str) -> bool:
    """Whether all matches hold "I", "my" or the like; False if that is not easily seen."""
    return (
        any(_OF_ONESELF.search(text) for text in _texts(expression))
        or _MUST_NAME_ONESELF.search(expression) is not None
    )


def _texts(expression: str) -> Iterator[str]:
    """The texts that all matches hold. Only what stands outside of groups and sets is looked at."""
    run, place, texts = "", 0, list[str]()
    while place < len(expression):
        sign, after = expression[place], expression[place + 1 : place + 2]
        if sign == "|":
            return  # either side will do
        if sign not in "([\\" + _NO_TEXT + _ANY_NUMBER and (not after or after not in _ANY_NUMBER):
            run, place = run + sign, place + 1
            continue
        texts.append(run)
        run, place = "", _after(expression, place)
    yield from filter(None, (*texts, run))


def _after(expression: str, place: int) -> int:
    """Where what begins at a place ends that gives no text."""
    sign = expression[place]
    if sign == "(":
        return _after_group(expression, place)
    if sign == "[":
        return _after_set(expression, place)
    if sign == "{":
        return expression.index("}", place) + 1
    return place + (2 if sign == "\\" else 1)


def openings(expression: str) -> tuple[str, ...]:
    """What the matches of an expression with ``^`` begin with, one or the other of it."""
    choice = _CHOICE.match(expression)
    if choice is not None:
        return tuple(choice["texts"].split("|"))
    first = next(_texts(expression), "")
    return (first if expression.startswith(f"^{first}") else "",)


_CHOICE = re.compile(r"\^(?:\(\?P<\w+>)?\(\?:(?P<texts>[\w' |-]+)\)(?![?*{])")


def _after_set(expression: str, place: int) -> int:
    """Where the set ends that begins at a place, as ``[^\\]x]`` does."""
    place += 2 if expression[place + 1] == "^" else 1
    place += 1  # a bracket that stands first is one of the set
    while expression[place] != "]":
        place += 2 if expression[place] == "\\" else 1
    return place + 1


def _after_group(expression: str, place: int) -> int:
    """Where the group ends that begins at a place."""
    place += 1
    while expression[place] != ")":
        if expression[place] == "(":
            place = _after_group(expression, place)
        elif expression[place] == "[":
            place = _after_set(expression, place)
        else:
            place += 2 if expression[place] == "\\" else 1
    return place + 1
