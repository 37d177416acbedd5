"""Which statements later ones supersede. No I/O.

Within one slot of one subject, in the order of time: a statement is superseded by the newest later
one that contradicts it, unless a still later one agrees with it again. So the result depends on
what was said when, not on the order in which it was added.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from treering.facts.forms import DOES
from treering.facts.statement import Statement
from treering.score.terms import terms

WHOLE: Final = frozenset(
    {"number", "phone number", "mobile number", "cell number"}
    | {"email", "e-mail", "email address", "e-mail address"}
)
"""Slots whose values are the same or not: two numbers with a part in common are two numbers."""

PLAIN: Final = WHOLE | frozenset(
    {"home", "diet", "status", "age", "name", "surname", "last name", "birthday", "address"}
)
"""Slots that hold one value at a time, so that another value needs no word of change. One may have
two employers, or several favourite books: there only "now", "new" or "started" tells."""


@dataclass(frozen=True, slots=True)
class Known:
    """A statement and where it stands: its entry's sequence number, and when it was said."""

    statement: Statement
    entry: int
    said: int

    @property
    def order(self) -> tuple[int, int, int]:
        """Sorts by time, then as added, then as it stands in the text."""
        return self.said, self.entry, self.statement.start


def superseded(group: Iterable[Known]) -> list[tuple[Known, Known]]:
    """Pairs of older and newer among the statements of one subject and slot."""
    told = sorted(group, key=lambda one: one.order)
    # Of many habits hardly one ever ends: only what can contradict is compared with everything.
    against = [n for n, one in enumerate(told) if one.statement.slot != DOES or _ends(one)]
    pairs = []
    for place, older in enumerate(told):
        newest = max(
            (n for n in against if n > place and _against(told[n], older)),
            default=None,
        )
        if newest is not None and not any(
            agrees(later.statement, older.statement) for later in told[newest + 1 :]
        ):
            pairs.append((older, told[newest]))
    return pairs


def _ends(one: Known) -> bool:
    return one.statement.sense == "ends"


def _against(newer: Known, older: Known) -> bool:
    return newer.entry != older.entry and contradicts(newer.statement, older.statement)


def contradicts(newer: Statement, older: Statement) -> bool:
    """Whether both cannot hold, so that the newer one does."""
    new, old = _words(newer), _words(older)
    if not new or not old:
        return False
    if newer.slot == DOES:
        return newer.sense == "ends" and older.sense != "ends" and new <= old
    if "ends" in (newer.sense, older.sense):
        return newer.sense != older.sense and bool(new & old)
    return not new & old and (newer.slot in PLAIN or newer.sense == "begins")


def agrees(newer: Statement, older: Statement) -> bool:
    """Whether a later statement says again what an earlier one did."""
    new, old = _words(newer), _words(older)
    if (newer.sense == "ends") != (older.sense == "ends"):
        return False
    return bool(new & old) if newer.slot != DOES else new <= old or old <= new


def _words(statement: Statement) -> frozenset[object]:
    if statement.slot in WHOLE:
        return frozenset({statement.value.casefold()})
    return frozenset(terms(statement.value)[:, 0].tolist())
