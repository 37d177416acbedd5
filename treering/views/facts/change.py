"""Decides which statements are superseded by later ones. No I/O.

Within one slot of one subject, in the order of time: a statement is superseded by the newest later
one that contradicts it, unless a still later one agrees with it again. So the result depends on
what was said when, not on the order of adding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from treering.search.terms import terms
from treering.views.facts.form import DOES
from treering.views.facts.record import Statement

WHOLE: Final = frozenset(
    {"number", "phone number", "mobile number", "cell number"}
    | {"email", "e-mail", "email address", "e-mail address"}
)
"""Slots whose values are compared as a whole: two numbers that share a part are two numbers."""

PLAIN: Final = WHOLE | frozenset(
    {"diet", "status", "age", "name", "surname", "last name", "birthday", "address"}
)
"""Slots with one value at a time, so that another value supersedes the first by itself. Other slots
need a word like "now" or "moved": one may have two employers, or live in Porto and Portugal."""


SINGLE: Final = frozenset(
    {"code", "pin", "password", "passcode", "plate", "username", "rent", "salary", "weight"}
    | {"height", "size", "budget", "address", "number", "email", "e-mail"}
)
"""What a slot such as "locker code" ends in that has one value at a time, too."""


OFTEN_SEVERAL: Final = frozenset(["son", "daughter", "brother", "sister"])
"""People of whom one may have two. Another value for them needs a word of change."""


_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_YEARS = re.compile(r"\d{1,9}")
_TITLE = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Miss|Prof|Professor)\b\.? (?=\w)")
"""What two names may share though they are two people's."""


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """A statement, its entry's sequence number, and ``at``, the time of saying it as a number."""

    statement: Statement
    entry: int
    at: int

    @property
    def order(self) -> tuple[int, int, int]:
        """A key that sorts by time, then by order of adding, then by place in the text."""
        return self.at, self.entry, self.statement.start


@dataclass(frozen=True, slots=True)
class _ComparedStatement:
    """A statement with the words of its value. For a habit, these are the words after the verb."""

    dated: DatedStatement
    words: frozenset[object]

    @property
    def numbers(self) -> frozenset[str]:
        """The numbers of the value: two amounts differ though both are "a month"."""
        return frozenset(_NUMBER.findall(self.dated.statement.value))

    @property
    def habit(self) -> bool:
        return self.dated.statement.slot.startswith(DOES)

    @property
    def ends(self) -> bool:
        return self.dated.statement.sense == "ends"


def superseded(group: Iterable[DatedStatement]) -> list[tuple[DatedStatement, DatedStatement]]:
    """Pairs (older, newer) of statements of one subject and slot, where the newer one holds."""
    compared = [
        _ComparedStatement(dated, _words(dated.statement))
        for dated in sorted(group, key=lambda dated: dated.order)
    ]
    # Of many habits hardly one ever ends: only what can contradict is compared with everything.
    against = [n for n, newer in enumerate(compared) if newer.ends or not newer.habit]
    against.reverse()  # so that the newest contradiction is the first one met
    pairs = []
    for place, older in enumerate(compared):
        newest = next((n for n in against if n > place and _contradicts(compared[n], older)), None)
        if newest is None:
            continue
        # "Porto", "Berlin", "Porto": the last statement confirms the first, so that holds again.
        if not any(_agrees(later, older) for later in compared[newest + 1 :]):
            pairs.append((older.dated, compared[newest].dated))
    return pairs


def _contradicts(newer: _ComparedStatement, older: _ComparedStatement) -> bool:
    """Whether the statements exclude each other, so that only the newer one holds."""
    if newer.dated.entry == older.dated.entry:
        return False
    if newer.habit:
        # "I stopped running" ends "I run", and not "I run a bakery".
        same = newer.words <= older.words if newer.words else not older.words
        return newer.ends and not older.ends and same
    new, old = newer.words, older.words
    if not new or not old:
        return False
    if newer.ends or older.ends:
        return newer.ends != older.ends and bool(new & old)
    if _share(newer, older):
        return False
    statement, before = newer.dated.statement, older.dated.statement
    if statement.slot == "age" and _is_younger(statement.value, before.value):
        return False  # nobody gets younger: it is somebody else's, or told of the past
    alone = statement.subject.rpartition(" ")[2] not in OFTEN_SEVERAL
    plain = statement.slot in PLAIN or statement.slot.rpartition(" ")[2] in SINGLE
    return statement.sense == "begins" or (plain and alone)


def _is_younger(age: str, before: str) -> bool:
    """Whether one age is below another; false where one is not told in digits: "Forty"."""
    years, years_before = _YEARS.match(age), _YEARS.match(before)
    return years is not None and years_before is not None and int(years[0]) < int(years_before[0])


def _agrees(newer: _ComparedStatement, older: _ComparedStatement) -> bool:
    """Whether a later statement repeats an earlier one."""
    if newer.ends != older.ends:
        return False
    if newer.habit:
        return newer.words <= older.words or older.words <= newer.words
    return _share(newer, older)


def _share(newer: _ComparedStatement, older: _ComparedStatement) -> bool:
    """Whether two values may be one: they share words, or numbers where both have some."""
    if newer.numbers and older.numbers and newer.dated.statement.slot not in WHOLE:
        return bool(newer.numbers & older.numbers)
    return bool(newer.words & older.words)


def _words(statement: Statement) -> frozenset[object]:
    if statement.slot in WHOLE:
        return frozenset({re.sub(r"[\s()./-]", "", statement.value.casefold())})
    value = statement.value
    if statement.slot == "address":  # who moves within a town has a new address in the same town
        value = value.partition(",")[0]
    if statement.slot.startswith(DOES):
        value = value.removeprefix("a ").removeprefix("an ").partition(" ")[2]
    return frozenset(terms(_TITLE.sub("", value))[:, 0].tolist())
