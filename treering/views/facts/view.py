"""``memory.facts``: facts about people and things, and which of them are superseded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from treering.journal import entries, work
from treering.journal.contract import Value
from treering.journal.space import SpaceReader, SpaceWriter
from treering.records import Entry, Newer, Progress, When
from treering.search.marks import Mark, Quote
from treering.search.terms import terms_version
from treering.views.contract import Erased, Resources, Trace, View
from treering.views.facts import store
from treering.views.facts.change import (
    FORMS_READER,
    DatedStatement,
    Sense,
    Statement,
    attribute_key,
    states_facts,
)
from treering.views.facts.extract import FactExtractor
from treering.views.facts.forms import read_forms

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
        at = entries.micros_of(as_of)
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


def _facts(
    reader: SpaceReader, stated: Sequence[DatedStatement], as_of: int | None, name: str
) -> Iterator[Fact]:
    entry_of = entries.there(reader, [dated.entry for dated in stated])
    instead = store.replacements(reader, as_of, entry_of.keys())
    by_reader = {successor.id: successor.newer for successor in instead}
    by_person = {successor.entry: successor.newer for successor in instead if successor.id is None}
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


FORMS_VERSION = 13
"""Raised with every change to the forms or to the superseding rules. All facts are then reread."""

Stated = tuple[int, list[Statement]]
"""The time of an entry in microseconds since the epoch, and the statements that forms find."""


class Facts(View):
    """Keeps statements, and which of them are superseded by later ones."""

    name: ClassVar[str] = store.VIEW
    kinds: ClassVar[tuple[str, ...]] = ("statements",)
    traces: ClassVar[tuple[Trace, ...]] = (
        Trace("statement", "entry"),
        Trace("fact_reading", "entry"),
        Trace("work", "target"),
    )

    def __init__(self, extractor: FactExtractor, has_llm: Callable[[], bool]) -> None:
        self._extractor = extractor
        self._has_llm = has_llm

    @property
    def version(self) -> str:
        """The version of the forms and of the stems by which values are compared."""
        return f"{FORMS_VERSION}.{terms_version()}"

    def derive(self, entries_: Mapping[int, Entry]) -> Mapping[int, Stated]:
        """See ``View``."""
        return {
            seq: (entries.micros(entry.at or entry.added), read_forms(entry))
            for seq, entry in entries_.items()
            if states_facts(entry)
        }

    def store(self, writer: SpaceWriter, derived: Mapping[int, Stated]) -> None:
        """See ``View``."""
        if self._has_llm():
            work.enqueue(writer, writer.id, store.VIEW, derived)
        self._put(writer, derived)

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        """See ``View``. ``upgrade`` lets the model read all entries that no model has read."""
        if self._has_llm():
            self._extractor.run(progress, upgrade=upgrade)

    def pending(self, reader: SpaceReader) -> Mapping[str, int]:
        """The entries that a language model is to read."""
        return work.counts(reader, reader.id, [store.VIEW])

    def _put(self, writer: SpaceWriter, derived: Mapping[int, Stated]) -> None:
        groups = set[store.Group]()
        for seq, (said_at, statements) in derived.items():
            if statements:
                groups |= store.put(writer, seq, said_at, statements)
        if groups:
            store.decide(writer, groups)

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        """See ``View``."""
        work.claim(writer, writer.id, store.VIEW, seqs)
        store.forget_read(writer, seqs)
        return Erased({"statements": store.erase(writer, seqs)})

    def renew(
        self, writer: SpaceWriter, derived: Mapping[int, Stated], seqs: Sequence[int]
    ) -> None:
        """See ``View``. The rows of a language model stay: they were paid for."""
        store.erase(writer, seqs, FORMS_READER)
        self._put(writer, derived)

    def marks(self, reader: SpaceReader, quotes: Sequence[Quote]) -> Mapping[int, Mark]:
        """See ``View``. A mark says what supersedes the entry of a quote.

        What a person said supersedes an entry wins over both readers.
        """
        found = store.replacements(reader, reader.as_of, {quote.seq for quote in quotes})
        marks = {one.entry: Mark(superseded_by=one.newer) for one in found}  # the newest counts
        return {place: marks[quote.seq] for place, quote in enumerate(quotes) if quote.seq in marks}
