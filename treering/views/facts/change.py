"""Statements, and which of them are superseded by later ones. No I/O.

Within one attribute of one subject, in the order of time: a statement is superseded by the newest
later one that contradicts it, unless a still later one agrees with it again. So the result depends
on the times of saying, not on the order of adding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, get_args

from treering.journal.entries import OWN_SOURCES
from treering.records import Entry
from treering.search.terms import terms

Sense = Literal["holds", "ended", "planned"]
"""Whether a statement says that something is so, is so no longer, or is to be so."""

SENSES: Final[tuple[Sense, ...]] = get_args(Sense)

FORMS_READER: Final = "forms"
"""The reader that needs no model. A model's statements have the model's name."""

MAX_NOTE_CHARS: Final = 600
"""A longer text without a speaker is read as a story or an article, not as a person's note."""

_BOTS: Final = frozenset({"assistant", "system", "tool"})


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause that gives an ``attribute`` of a ``subject`` a ``value``.

    ``start`` and ``stop`` are the clause's character offsets in its entry. A ``single`` statement
    replaces other values of the attribute. ``speaker`` made the statement, and ``reader`` found it.
    """

    subject: str
    attribute: str
    value: str
    sense: Sense
    start: int
    stop: int
    single: bool
    speaker: str
    reader: str = FORMS_READER


def states_facts(entry: Entry) -> bool:
    """Whether an entry is a person's own words: no bot's, no code, no long text of no speaker."""
    if entry.kind == "code" or entry.role in _BOTS or entry.source.startswith(OWN_SOURCES):
        return False
    return entry.speaker is not None or len(entry.text) <= MAX_NOTE_CHARS


def speaker_of(entry: Entry) -> str:
    """The name of an entry's speaker in lower case; its role or source if it names no speaker."""
    return (entry.speaker or entry.role or entry.source).casefold()


SINGLE: Final = frozenset(
    {"home", "address", "age", "name", "surname", "birthday", "diet", "relationship", "phone"}
    | {"email", "number", "code", "pin", "password", "passcode", "username", "plate", "rent"}
    | {"salary", "weight", "height", "size", "budget"}
)
"""Attributes with one value at a time, also as a last word ("locker code"). Other attributes may
have several (two employers, two children) unless a statement says that its value replaces them."""

HABIT: Final = "habit"
"""The attribute of a person's habits: its values are a verb and its object."""

_EXACT: Final = frozenset({"phone", "email", "number"})
"""Attributes whose values are compared as a whole: numbers that share a part are two numbers."""

_ALIASES: Final = {
    **dict.fromkeys(["phone number", "mobile number", "mobile", "telephone"], "phone"),
    **dict.fromkeys(["e-mail", "email address", "e-mail address"], "email"),
    "postal address": "address",
    "company": "employer",
    "occupation": "job",
    "profession": "job",
    "residence": "home",
    "marital status": "relationship",
    "last name": "surname",
    "date of birth": "birthday",
}
"""Other names of attributes, so that both readers and all wordings meet in one attribute."""

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_TITLE = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Miss|Prof|Professor)\b\.? (?=\w)")


def attribute_key(name: str) -> str:
    """Return an attribute's name as it is stored: "Phone  number" is "phone"."""
    key = " ".join(name.casefold().split()).replace("favour", "favor").replace("colour", "color")
    return _ALIASES.get(key, key)


def is_single(attribute: str) -> bool:
    """Whether an attribute has one value at a time."""
    return attribute.rpartition(" ")[2] in SINGLE


@dataclass(frozen=True)
class DatedStatement:
    """A stored statement: its id, its entry's sequence number, and ``at``, the time of saying it.

    ``newer`` is the id of the statement that was found to hold instead.
    """

    statement: Statement
    id: int
    entry: int
    at: int
    newer: int | None = None

    @property
    def group(self) -> tuple[str, str]:
        """The subject and the attribute: only statements of one group supersede each other."""
        return self.statement.subject, self.statement.attribute

    @property
    def order(self) -> tuple[int, int, int]:
        """A key that sorts by time, then by order of adding, then by place in the text."""
        return self.at, self.entry, self.statement.start

    @cached_property
    def words(self) -> frozenset[object]:
        """The words by which the value is compared; the value itself without words."""
        stated, value = self.statement, self.statement.value
        if stated.attribute in _EXACT:
            return frozenset({re.sub(r"[\s()./-]", "", value.casefold())})
        if stated.attribute == "address":  # another address may be in the same town
            value = value.partition(",")[0]
        words = terms(_TITLE.sub("", value))[:, 0].tolist()
        return frozenset(words or [value.casefold()])

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers of the value: two amounts differ though both are "a month"."""
        return frozenset(_NUMBER.findall(self.statement.value))


def find_superseded(group: Iterable[DatedStatement]) -> list[tuple[DatedStatement, DatedStatement]]:
    """Return pairs (older, newer) of statements of one subject and attribute; the newer one holds.

    One person's statement about another supersedes no statement of the other one.
    """
    ordered = sorted(group, key=lambda dated: dated.order)
    stated = [one.statement for one in ordered]
    replacing = [n for n, one in enumerate(stated) if one.single or one.sense == "ended"]
    replacing.reverse()  # the newest contradiction comes first
    pairs = []
    for place, older in enumerate(ordered):
        newest = next((n for n in replacing if n > place and _contradicts(ordered[n], older)), None)
        if newest is None:
            continue
        # "Porto", "Berlin", "Porto": the last statement confirms the first, so that holds again.
        sense, later = older.statement.sense, ordered[newest + 1 :]
        if not any(one.statement.sense == sense and _is_same(one, older) for one in later):
            pairs.append((older, ordered[newest]))
    return pairs


def _contradicts(newer: DatedStatement, older: DatedStatement) -> bool:
    """Whether the statements exclude each other, so that only the newer one holds."""
    now, before = newer.statement, older.statement
    if newer.entry == older.entry or now.sense == "planned":
        return False
    is_own = f"{now.subject}'s ".startswith(f"{now.speaker}'s ")
    if now.speaker != before.speaker and not is_own:
        return False
    if now.sense != before.sense:  # an end, its revocation, or a plan that was carried out
        return _is_same(newer, older) or (before.sense == "planned" and now.single)
    if now.sense == "ended" or not now.single or _is_same(newer, older):
        return False
    ages = [one.value for one in (now, before) if now.attribute == "age" and one.value.isdecimal()]
    return len(ages) < 2 or int(ages[0]) >= int(ages[1])  # an age never falls


def _is_same(newer: DatedStatement, older: DatedStatement) -> bool:
    """Whether two values may be one: they share words, or numbers where both have some.

    An end must name nothing else: "I stopped running" does not end "I run a bakery".
    """
    if newer.statement.attribute == HABIT and newer.words != older.words:
        return len(newer.words) > 1 and newer.words <= older.words
    if newer.statement.sense == "ended":
        return newer.words <= older.words or older.words <= newer.words
    if newer.numbers and older.numbers and newer.statement.attribute not in _EXACT:
        return bool(newer.numbers & older.numbers)
    return bool(newer.words & older.words)
