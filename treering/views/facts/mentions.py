"""What a sentence mentions of its speaker, whatever else it says. No I/O.

That is where they are reached ("call me on 020 7946 0817") and what people and animals of theirs
are called ("my daughter Harriet").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from treering.views.facts.assertion import Assertion
from treering.views.facts.phrases import SEVERAL
from treering.views.facts.verbs import KIN, PETS, ROLES

_ADDRESS = r"(?P<value>[\w.+-]{1,64}@[\w.-]{1,64}\w|\+?\(?\d[\d ()-]{4,20}\d)"
_REACHED = (
    re.compile(
        r"\b(?:reach|call|text|ring|phone|e-?mail|write to|message|contact|get|find|try) me "
        rf"(?:\w+ ){{0,2}}?(?:on|at|via|by) {_ADDRESS}"
    ),
    re.compile(rf"\buse {_ADDRESS}(?= (?:from now on|instead|now|these days|for me)\b)"),
    re.compile(rf"\b(?:I'm|I am|I can be reached|I'm reachable)(?: now)? (?:on|at) {_ADDRESS}"),
)
_PASSING = re.compile(
    r"\b(?:today|tomorrow|tonight|until|till|while|this (?:week|weekend|morning|afternoon|evening)|"
    r"for (?:now|the \w+))\b"
)
_FOUND = re.compile(
    r"\b[Yy]ou(?:'ll| will| can) (?:usually |always |now )?find me (?P<value>(?:in|at|on) "
    r"(?:the |my )?[\w'-]+(?: (?!on\b|at\b|these\b|now\b|most\b|every\b|from\b)[\w'-]+){0,3})"
)
_PEOPLE = "|".join(sorted((ROLES | KIN) - SEVERAL - {"team", "family", "in-laws"}))
_PETS = "|".join(sorted(PETS))
_CALLED = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur) (?P<new>new )?"
    rf"(?P<slot>{_PEOPLE}|{_PETS}),? "
    r"(?P<value>(?:(?:Dr|Mr|Mrs|Ms)\.? )?(?!I\b|I')[A-Z][\w-]+(?: [A-Z][\w-]+)?)\b(?!')"
)


def mentions(sentence: str) -> Iterator[Assertion]:
    """Where the speaker of a plain sentence is reached and found, and who is around them."""
    for pattern in () if _PASSING.search(sentence) else _REACHED:
        match = pattern.search(sentence)
        if match is not None:
            slot = "email" if "@" in match["value"] else "phone number"
            yield Assertion("I", slot, match["value"], "begins")
    called = _CALLED.search(sentence)
    if called is not None:
        sense: Literal["begins", "holds"] = "begins" if called["new"] else "holds"
        yield Assertion("my", called["slot"], called["value"], sense)
    place = _FOUND.search(sentence)
    if place is not None:
        yield Assertion("I", "", place["value"], "holds")
