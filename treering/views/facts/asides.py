"""Tells what a sentence only supposes or reports, or tells of the past or of a while. No I/O."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from treering.views.facts.tokens import has_any, words
from treering.views.facts.verbs import word_set

_ASIDE = re.compile(
    r"\b(?:if|wish(?:es|ed)?|(?-i:may)|maybe|perhaps|probably|imagine|pretend|dream\w*|suppose|"
    r"when|before|until|unless|whether|thinks|reckons|assumes|says?|said|told|ask(?:ed|s)?|"
    r"remember|joke|jk|kidding|story|novel|"
    r"character|quote|(?:^|that |but |and )(?:nobody|no one)|not true|believes?|temporar\w+|"
    r"for now|"
    r"(?<!since )this (?:week|weekend|summer|winter)|back in(?= (?:the|my|our|those|high|college|"
    r"\d))(?!.* for good)|came back|"
    r"for (?:the|a) (?:few )?(?:week|month|summer|winter|spring|autumn|fall|semester|holiday|"
    r"moment|time being)\w*|(?:in|since|until|by|of|from|during) (?:19|20)\d\d)\b|[\"“”]",
    re.IGNORECASE,
)
"""What makes all of a sentence told, supposed, past or passing."""

_REPORTING: Final = word_set(
    "if wish wishes wished maybe perhaps probably imagine unless whether thinks reckons assumes "
    "say says said saying told tells ask asked asks claim claims claimed jk kidding story quote "
    "nobody true believe believes hear heard supposedly allegedly reportedly rumor rumors "
    "rumour rumours"
)
_STEMS: Final = ("dream", "pretend", "suppos", "jok")
"""Matches of ``_UNASSERTED`` have one of these words or stems, "no one" or a quote."""

_PASSING_BY: Final = word_set("may when before until remember novel character back came")
_PASSING_STEMS: Final = (*_STEMS, "temporar", "19", "20")
"""Matches of ``_ASIDE`` may have one of these instead."""

_BEFORE_WHILE: Final = word_set("for this")
_A_WHILE: Final = (
    *("now", "week", "month", "summer", "winter", "spring", "autumn", "fall", "semester"),
    *("holiday", "moment", "time"),
)
"""Or one of the first and of the second: "for a few weeks", "this weekend"."""

_UNASSERTED = re.compile(
    r"\b(?:if|unless|whether|thinks|reckons|assumes|wish(?:es|ed)?(?! (?:us|me) luck)|maybe|"
    r"perhaps|probably|imagine|pretend\w*|"
    r"dream\w*(?! "
    r"(?:job|house|home|car)\b)|suppose\w*|"
    r"says|they say|said(?! (?:goodbye|yes|no)\b)|saying|told|tells|asked|asks|"
    r"claimed|claims? (?:that|to|I|he|she|they|it)|joke\w*|jk|"
    r"kidding|(?<!long )story|"
    r"quote|(?:^|that |but |and )(?:nobody|no one)|not true|believes?|lol jk|"
    r"(?:people|folks|so they|so i) (?:say|hear)|(?:i|we)(?:'ve)? heard|supposedly|allegedly|"
    r"reportedly|"
    r"rumou?rs?)\b|[\"“”]",
    re.IGNORECASE,
)
"""What makes all of a sentence supposed, reported or not meant."""


def is_aside(sentence: str, spoken: Collection[str] | None = None) -> bool:
    """Whether a sentence is of suppositions, others' words, the past or what passes.

    ``spoken`` are its words, if they are known. Few sentences have one that is needed for that, and
    the expressions try dozens at every place.
    """
    spoken = words(sentence) if spoken is None else spoken
    may_be = not _PASSING_BY.isdisjoint(spoken) or _may_be_told(sentence, spoken, _PASSING_STEMS)
    may_be = may_be or (
        not _BEFORE_WHILE.isdisjoint(spoken) and has_any(sentence.lower(), _A_WHILE)
    )
    return may_be and _ASIDE.search(sentence) is not None


def is_unasserted(sentence: str, spoken: Collection[str]) -> bool:
    """Whether all of a sentence is supposed, reported or not meant."""
    is_told = _may_be_told(sentence, spoken, _STEMS)
    return is_told and _UNASSERTED.search(sentence) is not None


def _may_be_told(sentence: str, spoken: Collection[str], stems: Collection[str]) -> bool:
    return (
        not _REPORTING.isdisjoint(spoken)
        or has_any(sentence.lower(), stems)
        or ("no" in spoken and "one" in spoken)
        or '"' in sentence
        or not sentence.isascii()
    )
