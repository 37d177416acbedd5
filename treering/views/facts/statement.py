"""Reads statements of fact from what people say: a subject, a slot and a value. No I/O.

Only sentences of a few plain forms are read ("I moved to Porto", "my number is …", "I don't eat
meat any more"). Questions, wishes, plans, suppositions and the past are left out: a missed
statement costs a mark, a wrong one hides what is true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from treering.journal.entries import OWN_SOURCES
from treering.records import Entry
from treering.search.terms import stem
from treering.views.facts.forms import COMMON, DOES, FORMS, OBJECTS, SEVERAL, VALUES, Form, Sense

MAX_NOTE_CHARS: Final = 600
"""A text without a speaker is read as someone's note up to here, not as a story or an article."""

MAX_SENTENCE_CHARS: Final = 300
BOTS: Final = frozenset({"assistant", "system", "tool"})

_TITLE = "|".join(rf"(?<=\b{title})" for title in ("Dr", "Mr", "Mrs", "Ms", "Prof", "St"))
_BEGINS = "(?:I|We|You|He|She|It|They|My|Our|Your|His|Her|Its|Their|The|An?|This|That|These|Those)"
"""No name begins so: "Oak St. I work …" are two sentences, "St. Louis" is one name."""
_SENTENCE = re.compile(rf"(?:[^.!?\n]+|\.(?=\w)|(?:{_TITLE})\.(?= (?!{_BEGINS}\b)[A-Z]))+[.!?]*")
_AROUND = re.compile(r"^(?:on|in|at)\s+|\s+(?:now|too|again|nowadays|these days)$")
"""Words around a value that are not part of it: "Tom now"."""
_GOES_ON = re.compile(
    r"\s+(?:and|but|because|since|so|who|which)\s+"
    r"(?:(?:I|we|he|she|it|they|you)(?:['’]|\s+[a-z])|(?:the|my|his|her)\s+[a-z]+\s+(?:is|are)\b)"
)
"""Where a sentence goes on after a value: "Ana and I like tea", but not "The King and I"."""
_WORD = re.compile(r"[a-z']+")
_ASIDE = re.compile(
    r"\b(?:if|would|wish(?:es|ed)?|might|(?-i:may)|maybe|perhaps|probably|could|should|imagine|"
    r"pretend|dream\w*|used to|almost|consider\w*|thinking|think|plan\w*|want\w*|"
    r"hop(?:e|es|ed|ing)|going to|gonna|will|won't|suppose|when|before|until|unless|says?|said|"
    r"told|ask(?:ed|s)?|remember|joke|jk|kidding|story|novel|character|quote|nobody|no one|"
    r"not true|believes?|temporar\w+|for now|this (?:week|weekend|month|summer|winter|year)|"
    r"back in|came back|"
    r"for (?:the|a) (?:few )?(?:week|month|summer|winter|spring|autumn|fall|year|semester|holiday|"
    r"moment|time being)\w*|(?:19|20)\d\d)\b|'ll\b|'d\b|[\"“”]",
    re.IGNORECASE,
)
_FIRST_WORD = re.compile(
    r"(?:if|would|wish(?:es|ed)?|might|maybe|may|perhaps|probably|could|should|imagine|pretend|"
    r"dream\w*|used|almost|consider\w*|thinking|think|plan\w*|want\w*|hop(?:e|es|ed|ing)|going|"
    r"gonna|will|won|suppose|when|before|until|unless|says?|said|told|ask(?:ed|s)?|remember|joke|"
    r"jk|kidding|story|novel|character|quote|nobody|no|not|believes?|temporar\w+|for|this|back|"
    r"came|(?:19|20)\d\d)"
)
"""The first words of what ``_ASIDE`` looks for, as whole words in lower case."""
_ANY_WORD = re.compile(r"\w+")
_CHANGE = re.compile(r"\b(?:now|these days|nowadays|instead|switched|changed)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that gives ``subject`` a ``value`` in a ``slot``.

    ``start`` and ``stop`` are the sentence's character offsets in its entry.
    """

    subject: str
    slot: str
    value: str
    sense: Sense
    start: int
    stop: int


def statements(entry: Entry) -> list[Statement]:
    """The statements of an entry in their order; empty for bots, code and long texts."""
    if entry.kind == "code" or entry.role in BOTS or entry.source.startswith(OWN_SOURCES):
        return []
    if entry.speaker is None and len(entry.text) > MAX_NOTE_CHARS:
        return []
    speaker = (entry.speaker or entry.role or entry.source).casefold()
    return list(_read(entry.text, speaker))


def _read(text: str, speaker: str) -> Iterator[Statement]:
    for match in _SENTENCE.finditer(text):
        sentence = match[0].strip()
        if len(sentence) > MAX_SENTENCE_CHARS or sentence.endswith("?"):
            continue
        said_words = _WORD.findall(sentence.lower().replace("’", "'"))
        words = {*said_words, *(word.removesuffix("'s") for word in said_words)}
        forms = [form for form in FORMS if not form.hints.isdisjoint(words)]
        if not forms or is_aside(sentence):
            continue
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        for form in forms:
            form_match = form.pattern.search(sentence)
            if form_match is not None:
                yield from _stated(form_match, form, speaker, start)
                break


def is_aside(sentence: str) -> bool:
    """Whether a sentence is of wishes, plans, suppositions, others' words or the past.

    The expression that says so tries dozens of words at every place. Few sentences hold any of
    them, which is seen at once: outside of ASCII it is not, as letters there have odd cases.
    """
    lower = sentence.lower()
    is_plain = sentence.isascii() and not any(mark in lower for mark in ("'ll", "'d", '"'))
    if is_plain and not any(map(_begins_aside, _ANY_WORD.findall(lower))):
        return False
    return _ASIDE.search(sentence) is not None


@lru_cache(maxsize=1 << 15)
def _begins_aside(word: str) -> bool:
    return _FIRST_WORD.fullmatch(word) is not None


def _stated(match: re.Match[str], form: Form, speaker: str, start: int) -> Iterator[Statement]:
    """The statement of a sentence that matches a form, unless its value does not fit the slot."""
    groups = {name: value for name, value in match.groupdict().items() if value}
    subject = _subject(groups.get("subject", "I"), speaker)
    slot = form.slot or groups["slot"].lower().replace("our", "or")  # favourite colour
    # The pattern of a value may run on into the next clause, so the value is cut there.
    goes_on = _GOES_ON.search(match.string, match.start("value"))
    stop = min(match.end("value"), goes_on.start() if goes_on else len(match.string))
    stated = match.string[match.start("value") : stop].strip(" .")
    value = _AROUND.sub("", stated) or groups["value"]
    if slot == DOES:
        value = OBJECTS.get(value.casefold(), value)
        slot += verb_of(value)
    if subject.rpartition(" ")[2] in SEVERAL or not _fits(slot, value):
        return
    sense = form.sense
    if sense == "holds" and ("new" in groups or _CHANGE.search(match.string)):
        sense = "begins"
    yield Statement(subject, slot, value, sense, start, start + len(match.string))


def verb_of(value: str) -> str:
    """The stem of the verb with which a habit or state begins."""
    first = re.sub(r"^an? ", "", value).partition(" ")[0].casefold()
    return "have" if first in ("has", "having") else stem(first)


def _fits(slot: str, value: str) -> bool:
    """Whether a value can fill a slot."""
    if slot.startswith("favorite "):
        common = slot.removeprefix("favorite ") in COMMON
        return value[:1].isupper() or (common and not value.endswith(("ed", "ing")))
    pattern = VALUES.get(slot)
    return pattern is None or pattern.match(value) is not None


def _subject(words: str, speaker: str) -> str:
    """The subject: Ana's "I" is Ben's "Ana", but each one's "my sister" is another person."""
    plain = words.replace("’", "'").casefold()
    if plain in ("i", "we"):
        return speaker
    if plain.startswith("my "):
        return f"{speaker}'s {plain.removeprefix('my ')}"
    return plain
