"""Reads what the clauses of a sentence state. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from treering.views.facts.assertion import Assertion
from treering.views.facts.clauses import IT, SELF, SOMEBODY, Clause
from treering.views.facts.phrasing import noun_phrase
from treering.views.facts.predicate import is_person, predicate_of
from treering.views.facts.speaker import of_speaker
from treering.views.facts.things import of_it, of_others, of_thing, topic_of
from treering.views.facts.tokens import has_any
from treering.views.facts.verbs import (
    BECOME,
    CHANGED,
    KIN,
    SUBORDINATE,
    SWITCHED,
    TAKEN,
    word_set,
)

_NAMED = re.compile(
    r"(?:^(?:and |so )?(?:(?:[Hh]is|[Hh]er|[Ii]ts) name|(?:[Hh]e|[Ss]he|[Ii]t)(?='s called|"
    r" is called|"
    r"'s named))(?: is|'s)(?: called| named)?|\b(?:named|call|called|calling|christened) "
    r"(?:him|her|it|them)) (?P<name>(?:[A-Z][\w'-]*(?: (?:of|the|de|and)(?= [A-Z]))? ?)+)"
)
"""Where somebody or something just spoken of gets a name."""

_NAMING: Final = ("name", "call", "christened")
"""One of these stands in each match of ``_NAMED``."""

_HAD = re.compile(
    r"\b(?:have|had|got|get|adopted|seeing|dating|met|bought|rescued|fostering|welcomed|expecting|"
    r"taken in|took in|joined|opened|founded|started at|in) (?:(?:an?|our|my|the|another|"
    r"two)(?: new)? )?(.*)"
)
_OF_WHICH = re.compile(r" (?:you|I|we|that|who|which|they) ")
_HERE = re.compile(r"(?:[Tt]he|[Mm]y|[Oo]ur) (?:new )?([\w-]+)")
_LASTS = SWITCHED | CHANGED | TAKEN | BECOME | {"left", "quit", "turned", "resigned", "retired"}
_OF_THEN = ("when", "before", "until", "while", "as", "after")


_UNCERTAIN = re.compile(
    r"\b(?:once|(?:years?|decades|ages|long) ago|back then|back in (?:the|my|our|those|high|"
    r"college|\d+)|in those days|as an? "
    r"(?:child|kid|boy|girl|student|teenager)|"
    r"in my (?:youth|twenties|teens|childhood)|until|till|temporar\w+|for now|for the (?:weekend|"
    r"week|day|night|month|summer|winter|time being|moment|fortnight|season)|this (?:week|weekend|"
    r"month|summer|winter|evening|morning|afternoon)|tempted|"
    r"how (?:I|we)|half a mind|tonight|tomorrow|next (?:week|month|year|"
    r"spring|summer)|never|almost|nearly|not yet|soon|on holiday|basically|practically|virtually|"
    r"the time|one day|at this point|sometimes|(?:in|by) (?:19|20)\d\d)\b",
    re.IGNORECASE,
)
"""What makes a clause one of the past, of a while, or not quite meant."""


_UNCERTAIN_WORDS: Final = word_set(
    "once ago then days child kid boy girl student teenager back youth twenties teens childhood "
    "until till now weekend week day night month summer winter time being moment fortnight season "
    "evening morning afternoon tonight tomorrow next never almost nearly yet soon holiday "
    "tempted how mind basically practically virtually point sometimes"
)
"""Words of which each match of ``_UNCERTAIN`` has one, but for those with one of its signs."""

_UNCERTAIN_SIGNS: Final = ("tempor", " 19", " 20")


def _is_uncertain(clause: str) -> bool:
    """Whether a clause is one of the past, of a while, or not quite meant."""
    small = clause.lower()
    may_be = not _UNCERTAIN_WORDS.isdisjoint(small.split()) or not clause.isascii()
    may_be = may_be or has_any(small, _UNCERTAIN_SIGNS)
    return may_be and _UNCERTAIN.search(clause) is not None


def asserted(read: Sequence[Clause]) -> list[Clause]:
    """The clauses of a sentence that are said to hold, or to have come to hold."""
    holding: list[Clause] = []
    is_asserted = True
    for place, clause in enumerate(read):
        after = read[place + 1] if place + 1 < len(read) else None
        is_past = after is not None and after.link.lower() in _OF_THEN and _is_of_past(after)
        starts_anew = not clause.goes_on or clause.link == ":"
        starts_anew |= clause.whole.lower().startswith(("now", "these"))
        is_uncertain = _is_uncertain(clause.whole) or _is_of_today(clause)
        if is_uncertain or clause.link.lower() in SUBORDINATE or is_past:
            is_asserted = False
        elif starts_anew:  # what goes on without a subject goes on in the time of the one before
            is_asserted = True
        if _is_undone(clause) and after is not None and after.goes_on:
            is_asserted = False  # "I haven't left the church and joined a sect"
        if is_asserted and (clause.subject != SELF or predicate_of(clause) is not None):
            holding.append(clause)
        else:
            is_asserted = False
    return holding


def _is_undone(clause: Clause) -> bool:
    """Whether a clause says that something has not been done, not that it is done no longer."""
    words = [word.lower() for word in clause.words[:2]]
    return words in (["have", "not"], ["has", "not"]) and "since" not in clause.words


def _is_of_today(clause: Clause) -> bool:
    """Whether a clause tells of something done today that lasts no longer."""
    if "today" not in clause.words:
        return False
    return not any(word.lower() in _LASTS for word in clause.words[:4])


def _is_of_past(clause: Clause) -> bool:
    return clause.subject == SELF and clause.words[:1] in (("was",), ("were",), ("had",))


def readings(
    read: Sequence[Clause], holding: Sequence[Clause], before: Sequence[Clause]
) -> Iterator[Assertion]:
    """What the clauses of one sentence state, in their order.

    ``holding`` are those that are :func:`asserted`, ``before`` the clauses of the last sentence.
    """
    # "My number has changed. It is now …": what "it" stands for may be named a sentence before.
    is_of_it = bool(read) and read[0].subject == IT
    topic = next(filter(None, map(topic_of, reversed(before))), None) if is_of_it else None
    for clause in read:
        topic = topic_of(clause) or topic
        if clause not in holding:
            continue
        yield from _of_name(clause, [*before, *read[: read.index(clause)]])
        if clause.subject == SOMEBODY:
            yield from of_others(clause)
        else:
            yield from _of_clause(clause, topic)


def _of_name(clause: Clause, read: Sequence[Clause]) -> Iterator[Assertion]:
    """ "His name is Bruno", after "we have a dog now"; "named him Waffles", after "got a dog"."""
    if not has_any(clause.whole, _NAMING):
        return
    match = _NAMED.search(clause.whole.replace(" '", "'"))
    if match is None:
        return
    for before in reversed(read):
        had = _HAD.search(before.whole) if before.subject == SELF else None
        here = _HERE.match(before.whole)
        thing = noun_phrase(_OF_WHICH.split(had[1])[0].split()) if had else here[1] if here else ""
        if match[0].lower().startswith("it") and is_person(before.subject):
            thing = noun_phrase([*before.words[2:]]).rpartition(" ")[2]
        if thing:
            slot = "partner" if thing.startswith("someone") else thing.split()[-1]
            yield Assertion("my", slot, match["name"], "holds")
            return


def _of_clause(clause: Clause, topic: str | None) -> Iterator[Assertion]:
    predicate = predicate_of(clause)
    if predicate is None:
        return
    if clause.subject == SELF:
        yield from of_speaker(predicate)
    elif clause.subject == IT:
        yield from of_it(predicate, topic)
    else:
        yield from of_others(clause)
        named = [] if _is_kin(clause.subject) else list(of_thing(clause.subject, predicate))
        yield from named
        if is_person(clause.subject) and not any(reading.slot for reading in named):
            for reading in of_speaker(predicate):
                if reading.subject == SELF:
                    yield replace(reading, subject=clause.subject)


def _is_kin(subject: str) -> bool:
    return subject.lower().split()[-1] in KIN and is_person(subject)
