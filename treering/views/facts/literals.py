"""Finds what every match of an expression holds, so that most texts need not be searched. No I/O.

``^it's (?:now )?(\\w+) for me`` matches in no text without " for me". What is found here comes from
the expression itself: who changes a rule has no second list to change.
"""

from __future__ import annotations

_ANY_NUMBER = "?*{"
"""Quantifiers of what may be absent, or of which it is not looked how often it must be there."""

_NO_TEXT = "^$.+"


def literal(expression: str) -> str:
    """The longest text that all matches hold; empty if there is none that is found easily.

    Only what stands outside of all groups and sets is looked at.
    """
    longest, run, place = "", "", 0
    while place < len(expression):
        sign = expression[place]
        if sign == "|":
            return ""  # either side will do
        if sign in "([":
            place = (_after_group if sign == "(" else _after_set)(expression, place)
            run = ""
        elif sign == "\\":
            place, run = place + 2, ""
        elif sign in _ANY_NUMBER + _NO_TEXT:
            # The letter before may be left out, or come again: the run goes to just before it.
            longest = max(longest, run[:-1] if sign in _ANY_NUMBER else run, key=len)
            place, run = _after_quantifier(expression, place), ""
            continue
        else:
            place, run = place + 1, run + sign
            if expression[place : place + 1] and expression[place] in _ANY_NUMBER:
                continue
        longest = max(longest, run, key=len)
    return longest


def opening(expression: str) -> str:
    """The text that all matches of an expression with ``^`` begin with."""
    run = ""
    for sign, after in zip(expression[1:], expression[2:] + " ", strict=True):
        if sign in "|([\\" + _ANY_NUMBER + _NO_TEXT or after in _ANY_NUMBER:
            break
        run += sign
    return "" if literal(expression) == "" else run


def _after_quantifier(expression: str, place: int) -> int:
    return expression.index("}", place) + 1 if expression[place] == "{" else place + 1


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
