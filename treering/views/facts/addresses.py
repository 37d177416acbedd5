"""Where a speaker says that they are reached: "you can reach me on 020 7946 0817". No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treering.views.facts.reading import Reading

_ADDRESS = r"(?P<value>[\w.+-]{1,64}@[\w.-]{1,64}\w|\+?\(?\d[\d ()-]{4,20}\d)"
_REACHED = (
    re.compile(
        r"\b(?:reach|call|text|ring|phone|e-?mail|write to|message|contact|get|find|try) me "
        rf"(?:\w+ ){{0,2}}?(?:on|at|via|by) {_ADDRESS}"
    ),
    re.compile(rf"\buse {_ADDRESS}(?= (?:from now on|instead|now|these days|for me)\b)"),
    re.compile(rf"\b(?:I'm|I am|I can be reached|I'm reachable)(?: now)? (?:on|at) {_ADDRESS}"),
)
_FOUND = re.compile(
    r"\b[Yy]ou(?:'ll| will| can) (?:usually |always |now )?find me (?P<value>(?:in|at|on) "
    r"(?:the |my )?[\w'-]+(?: (?!on\b|at\b|these\b|now\b|most\b|every\b|from\b)[\w'-]+){0,3})"
)


def addresses(sentence: str) -> Iterator[Reading]:
    """The number and the e-mail address at which the speaker of a plain sentence is reached."""
    for pattern in _REACHED:
        match = pattern.search(sentence)
        if match is not None:
            slot = "email" if "@" in match["value"] else "phone number"
            yield Reading("I", slot, match["value"], "begins")
    place = _FOUND.search(sentence)
    if place is not None:
        yield Reading("I", "", place["value"], "holds")
