"""What a sentence mentions of its speaker, whatever else it says. No I/O.

That is where they are reached ("call me on 020 7946 0817") and what people and animals of theirs
are called ("my daughter Harriet").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from treering.views.facts.assertion import Assertion
from treering.views.facts.phrases import MONTH, SEVERAL
from treering.views.facts.tokens import has_any
from treering.views.facts.verbs import KIN, PETS, ROLES

_ADDRESS = r"(?P<value>[\w.+-]{1,64}@[\w.-]{1,64}\w|\+?\(?\d[\d ()-]{4,20}\d)"
_REACHED = (
    re.compile(
        r"\b(?:reach|call|text|ring|phone|e-?mail|write to|message|contact|get|find|try) me "
        rf"(?:\w+ ){{0,2}}?(?:on|at|via|by) {_ADDRESS}"
    ),
    re.compile(
        r"\b(?:mobile|number|phone|cell)\b[^.@]*?[,:] (?P<value>\+?\(?\d[\d "
        r"()-]{7,20}\d)(?=[.! ]*$)"
    ),
    re.compile(rf"\buse {_ADDRESS}(?= (?:from now on|instead|now|these days|for me)\b)"),
    re.compile(rf"\b(?:I'm|I am|I can be reached|I'm reachable)(?: now)? (?:on|at) {_ADDRESS}"),
)
_DIGITS = re.compile(r"\d[\d ()-]{4}")
_OF_REACHING: Final = (
    *(" me ", "mobile", "number", "phone", "cell", "use ", "I'm ", "I am ", "I can "),
)
"""One of these stands in each match of ``_REACHED``."""

_DATE = rf"(?:\d+\w* (?:of )?{MONTH}|{MONTH} \d+\w*|\d+\w*)(?:,? (?:19|20)\d\d)?"
_PASSING = re.compile(
    r"\b(?:today|tomorrow|tonight|until|till|while|this (?:week|weekend|morning|afternoon|evening)|"
    r"for (?:now|the \w+))\b"
)
_OWNERS: Final = ("my ", "My ", "our ", "Our ")
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


_THING_CALLED = re.compile(
    r"\b(?:an?|our|my|new) (?:[a-z-]+ ){0,4}?"
    r"(?!someone\b|somebody\b|guy\b|man\b|woman\b|person\b|one\b|people\b|character\b|film\b|"
    r"movie\b|book\b|"
    r"song\b|girl\b|lady\b|bloke\b|kid\b|friend\b|game\b|show\b|series\b|"
    r"podcast\b)(?P<slot>[a-z-]+)(?: now| too| these days| as well| at home)?,? (?:which is |who "
    r"is |that's |by the "
    r"name of |(?:who|which) (?:we|I) )?(?:called|named) (?P<value>(?!I\b)[A-Z][\w'&-]*"
    r"(?: (?:(?:of|the|and|&|de|on) )?[A-Z][\w'&-]*)*)"
)
_OWN_DOING = re.compile(
    r"\btalked (?:me|us) into\b|(?:^|[,;:] |\band |\bbut )(?:(?:I|[Ww]e)(?:'ve|'re|'m| have| are|"
    r" am)? (?:\w+ ){0,2}?)?(?:now )?"
    r"(?:have|got|adopted|bought|rescued|joined|started|starting|went to|gone to|work|working|"
    r"attend|"
    r"attending|moved|switched|changed|keep|own|use|live|living|joining|running|run|founded|opened|"
    r"talked me into|welcomed|had|seeing|at|with|for|to)\b",
)
_NEW_PERSON = re.compile(
    rf"\b(?:have|got|found|hired|with|have got) (?:an?|another|myself an?|ourselves an?) new "
    rf"(?P<slot>{_PEOPLE})"
    r"(?: now)?,? (?:(?:who is |who's )?(?:called|named) )?"
    r"(?P<value>(?:(?:Dr|Mr|Mrs|Ms)\.? )?(?!I\b)[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)"
)
_BORN = re.compile(
    r"\b(?:[Mm]y|[Oo]ur|[Tt]he) (?:[a-z]+ )?(?P<slot>twins|baby|[a-z]+)(?: [A-Z]\w+)? (?:was|"
    r"were) born "
    rf"(?:on |in )?(?:the )?(?P<value>{_DATE})"
)
_BESIDE = re.compile(
    r"\b(?:adopted|rescued|bought|got|have|welcomed|"
    r"fostering) an? (?:[a-z-]+ ){0,3}?(?P<slot>[a-z-]+), "
    r"(?P<value>[A-Z][\w'-]+)(?=[,.!]|$)"
)


def mentions(sentence: str) -> Iterator[Assertion]:
    """Where the speaker of a plain sentence is reached and found, and who is around them."""
    # The signs are looked for first: most sentences have none of them.
    may_reach = has_any(sentence, _OF_REACHING) and (
        "@" in sentence or _DIGITS.search(sentence) is not None
    )
    for pattern in _REACHED if may_reach and not _PASSING.search(sentence) else ():
        match = pattern.search(sentence)
        if match is not None:
            slot = "email" if "@" in match["value"] else "phone number"
            yield Assertion("I", slot, match["value"], "begins")
    called = _CALLED.search(sentence) if has_any(sentence, _OWNERS) else None
    if called is not None:
        sense: Literal["begins", "holds"] = "begins" if called["new"] else "holds"
        yield Assertion("my", called["slot"], called["value"], sense)
    place = _FOUND.search(sentence) if "find me " in sentence else None
    if place is not None:
        yield Assertion("I", "", place["value"], "holds")


_NAMED_THEN = re.compile(
    r"(?:\bname(?:'s| is)|^(?:[Hh]e|[Ss]he|[Ii]t)(?:'s| is) (?:called|named)) "
    r"(?P<value>[A-Z][\w'-]+)"
    r"(?: now)?, (?:our|my) (?P<new>new )?"
    r"(?P<slot>(?!favou?rite)(?:[a-z-]+ )?[a-z-]+)(?=[.!,]*$)"
)


def called(sentence: str) -> Iterator[Assertion]:
    """What things and animals of the speaker's are called, and when somebody was born."""
    named = _NAMED_THEN.search(sentence) if ", our " in sentence or ", my " in sentence else None
    if named is not None:
        yield Assertion("my", named["slot"].split()[-1], named["value"], "holds")
        return
    new = _NEW_PERSON.search(sentence) if " new " in sentence else None
    if new is not None:
        yield Assertion("my", new["slot"], new["value"], "begins")
    elif "called" in sentence or "named" in sentence:
        thing = _THING_CALLED.search(sentence)
        if thing is not None and _OWN_DOING.search(sentence, 0, thing.start()):
            yield Assertion("my", thing["slot"], thing["value"], "holds")
    elif " born " in sentence:
        born = _BORN.search(sentence)
        if born is not None:
            yield Assertion("my", f"{born['slot']} born", born["value"], "holds")
    elif " a" in sentence and "," in sentence:
        beside = _BESIDE.search(sentence)
        if beside is not None:
            yield Assertion("my", beside["slot"], beside["value"], "holds")
