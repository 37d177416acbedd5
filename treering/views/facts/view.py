"""``memory.facts``: facts about people and things, and which of them are superseded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from treering.journal import entries
from treering.journal.contract import Value
from treering.journal.fields import parse_time
from treering.journal.space import SpaceReader
from treering.records import Newer, When
from treering.views.contract import Resources
from treering.views.facts import store
from treering.views.facts.change import DatedStatement, attribute_key
from treering.views.facts.record import Sense

USER = "user"
"""The speaker of chat messages that name no speaker."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement that an ``attribute`` of a ``subject`` has a ``value``, and its entry.

    ``text`` is the clause that says so. ``reader`` is "forms" or the model that found it.
    ``superseded_by`` is a newer statement that holds instead.
    """

    subject: str
    attribute: str
    value: str
    sense: Sense
    text: str
    entry_id: str
    source: str
    at: datetime | None
    reader: str
    superseded_by: Newer | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A superseded statement, the newer one, and who found that: a reader, or a person."""

    attribute: str
    entry_id: str
    text: str
    at: datetime | None
    newer: Newer
    made_by: str


class FactView:
    """The facts of one space. Safe to use from many threads."""

    def __init__(self, resources: Resources) -> None:
        self._space = resources.space
        self._catch_up = resources.catch_up

    def all(self, subject: str | None = None, as_of: When = None) -> list[Fact]:
        """Return all statements in the order they were said, of every subject or of one.

        ``as_of`` gives the statements that had been made by then, and what superseded them then.
        """
        return self._facts_about(subject, None, as_of)

    def current(self, subject: str | None = None, as_of: When = None) -> list[Fact]:
        """Return the facts that hold: as they were last stated, not ended and not planned."""
        facts = self.all(subject, as_of)
        return [fact for fact in facts if fact.sense == "holds" and fact.superseded_by is None]

    def history(self, subject: str, attribute: str, as_of: When = None) -> list[Fact]:
        """Return all statements about one attribute of a subject, in the order they were said."""
        return self._facts_about(subject, attribute_key(attribute), as_of)

    def _facts_about(self, subject: str | None, attribute: str | None, as_of: When) -> list[Fact]:
        at = _micros(as_of)
        params: list[Value] = [] if at is None else [at]
        condition = " AND said <= ?" if params else ""
        self._catch_up()
        with self._space.read() as reader:
            user, names = store.of_groups([(USER, "name")])
            # The last name counts.
            named = store.dated_statements(reader, condition + user, *params, *names)
            name = named[-1].statement.value.casefold() if named else USER
            if subject:
                asked = _rename(subject.casefold(), USER, name)
                of_subjects, names = store.of_subjects({asked, _rename(asked, name, USER)})
                condition, params = condition + of_subjects, [*params, *names]
            if attribute:
                condition, params = f"{condition} AND attribute = ?", [*params, attribute]
            stated = store.dated_statements(reader, condition, *params)
            return list(_facts(reader, stated, at, name))

    def changes(self, as_of: When = None) -> list[Change]:
        """Return the superseded statements, each with the newer one, in the order of those."""
        self._catch_up()
        with self._space.read() as reader:
            found = store.replacements(reader, _micros(as_of))
            entry_of = entries.there(reader, [one.entry for one in found])
        found.sort(key=lambda one: one.said)
        older = [entry_of[one.entry] for one in found]
        return [
            Change(one.attribute, entry.id, entry.text, entry.at, one.newer, one.made_by)
            for one, entry in zip(found, older, strict=True)
        ]


def _facts(
    reader: SpaceReader, stated: Sequence[DatedStatement], as_of: int | None, name: str
) -> Iterator[Fact]:
    entry_of = entries.there(reader, [dated.entry for dated in stated])
    instead = store.replacements(reader, as_of, entry_of.keys())
    by_reader = {one.id: one.newer for one in instead}
    by_person = {one.entry: one.newer for one in instead if one.id is None}
    seen = set[tuple[int, str, str, str]]()
    for dated in stated:
        statement, entry = dated.statement, entry_of[dated.entry]
        key = (dated.entry, statement.subject, statement.attribute, statement.value.casefold())
        if key in seen:
            continue  # both readers found it
        seen.add(key)
        yield Fact(
            subject=_rename(statement.subject, USER, name),
            attribute=statement.attribute,
            value=statement.value,
            sense=statement.sense,
            text=store.clause(statement, entry),
            entry_id=entry.id,
            source=entry.source,
            at=entry.at,
            reader=statement.reader,
            superseded_by=by_person.get(dated.entry) or by_reader.get(dated.id),
        )


def _rename(subject: str, old: str, new: str) -> str:
    """A subject that is called by its new name, or after it: "user's sister"."""
    is_theirs = f"{subject}'s ".startswith(f"{old}'s ")
    return new + subject.removeprefix(old) if is_theirs else subject


def _micros(as_of: When) -> int | None:
    return None if as_of is None else entries.micros(parse_time(as_of, "as_of"))
