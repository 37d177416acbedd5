"""A clause's verb, without auxiliaries and adverbs, and what they say of it. No I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from treering.views.facts.clauses import SELF, Clause
from treering.views.facts.verbs import (
    ADVERBS,
    BE,
    DIAGNOSED,
    HAVE,
    MODAL,
    PARTICIPLES,
    RELATIVES,
)

_AUXILIARIES: Final = BE | HAVE | {"not", "do", "does", "was", "were"}
_PASSED: Final = ADVERBS | {"not", "since"}
"""Words between "have" and its participle."""

_NOT_ANY_MORE = re.compile(r"\b(?:any\s?more(?! than)|any longer)\b", re.IGNORECASE)


_DAYS = re.compile(
    r"\b(?:now|nowadays|currently|instead|these days|at present|at the moment|as of)\b"
)

_OF_DAYS = ("now", "currently", "instead", "days", "present", "moment", "as of")
"""One of these stands in every match of ``_DAYS``; to look for them first is quick."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A verb without its auxiliaries and adverbs, and what follows it."""

    verb: str
    rest: tuple[str, ...]
    auxiliaries: frozenset[str] = frozenset()
    is_now: bool = False
    is_negated: bool = False


@lru_cache(maxsize=32)  # a sentence is gone through more than once
def predicate_of(clause: Clause) -> Predicate | None:
    """The predicate of a clause; None where it is a wish, a plan or the past."""
    place, auxiliaries, negated = 0, set[str](), False
    words = clause.words
    while place < len(words):
        word = words[place].lower()
        if word == "used" and words[place + 1 : place + 2] == ("to",):
            return None
        is_passive = word in ("was", "were") and (
            (clause.subject != SELF and not is_person(clause.subject))
            or first_of(words[place + 1 :]) in DIAGNOSED
        )
        if word in MODAL and not is_passive and not auxiliaries & HAVE:
            return None
        if word in HAVE and not is_participle(words[place + 1 :]):
            break
        is_done_to = word == "got" and first_of(words[place + 1 :]) in DIAGNOSED
        if is_done_to or word in _AUXILIARIES:
            auxiliaries.add(word)
        elif word == "no" and words[place + 1 : place + 2] == ("longer",):
            negated = True
            place += 1
        elif word not in ADVERBS and not (word == "since" and is_participle(words[place + 1 :])):
            break
        place += 1
    if place == len(words):
        return None
    words_left = tuple(words[place + 1 :])
    no_longer = negated or ("not" in auxiliaries and bool(_NOT_ANY_MORE.search(clause.whole)))
    auxiliaries |= {"no longer"} if no_longer else set()
    return Predicate(
        words[place],
        words_left,
        frozenset(auxiliaries),
        any(day in clause.whole for day in _OF_DAYS) and bool(_DAYS.search(clause.whole)),
        "not" in auxiliaries or no_longer,
    )


def is_person(subject: str) -> bool:
    """Whether a subject is somebody of the speaker's, such as "my sister"."""
    words = subject.lower().split()
    return words[:1] in (["my"], ["our"]) and words[-1] in RELATIVES


def first_of(words: Sequence[str]) -> str:
    """The first of words that is no adverb, in lower case."""
    return next((word.lower() for word in words if word.lower() not in ADVERBS), "")


def is_participle(after: Sequence[str]) -> bool:
    """Whether "have" is an auxiliary before these words, as in "have just sold"."""
    verb = next((word.lower() for word in after if word.lower() not in _PASSED), "")
    return verb in PARTICIPLES or verb.endswith(("ed", "en", "wn"))
