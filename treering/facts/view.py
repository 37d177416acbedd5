"""``memory.facts``: what was stated of people and things, and what later statements superseded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from treering.facts import store
from treering.facts.forms import DOES
from treering.facts.statement import statements
from treering.fragments import store as fragments
from treering.journal import entries, work
from treering.journal.contract import Database, Reader, Writer
from treering.records import Newer

BATCH_ENTRIES = 512


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement as it was found: of whom, about what, which value, in which entry.

    ``superseded_by`` is the newer statement that holds instead, if there is one. ``ends``: it says
    that something does not hold any more.
    """

    subject: str
    slot: str
    value: str
    text: str
    entry_id: str
    source: str
    at: datetime | None
    ends: bool = False
    superseded_by: Newer | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """An older statement, the newer one that superseded it, and who says so (a rule or a model)."""

    slot: str
    entry_id: str
    text: str
    at: datetime | None
    newer: Newer
    made_by: str


class FactView:
    """The statements of one space. Safe to use from many threads."""

    def __init__(self, database: Database, space: str) -> None:
        self._database = database
        self._space = space

    def follow(self) -> None:
        """Read what was added or has changed; cheap, and without any model."""
        while True:
            with self._database.read() as reader:
                state = fragments.state(reader, self._space)
                if state is None or not store.unread(reader, state.space, 1):
                    return
            with self._database.write() as writer:
                self._read(writer, state.space)

    def all(self, subject: str | None = None) -> list[Fact]:
        """Statements with one value at a time (homes, numbers, …) in the order they were said.

        Habits are found too, but only listed once something has superseded them.
        """
        self.follow()
        with self._database.read() as reader:
            state = fragments.state(reader, self._space)
            if state is None:
                return []
            facts = list(_facts(reader, state.space))
        wanted = subject.casefold() if subject else None
        return [
            fact
            for fact in facts
            if wanted in (None, fact.subject)
            and (fact.slot != DOES or fact.superseded_by is not None or fact.ends)
        ]

    def current(self, subject: str | None = None) -> list[Fact]:
        """The statements that nothing has superseded."""
        return [fact for fact in self.all(subject) if fact.superseded_by is None]

    def changes(self) -> list[Change]:
        """What was superseded by what, in the order of the newer statements."""
        self.follow()
        with self._database.read() as reader:
            state = fragments.state(reader, self._space)
            found = store.pairs(reader, state.space) if state else []
            known = entries.by_seq(reader, [entry for entry, *_ in found])
        return [
            Change(slot, known[seq].id, known[seq].text, known[seq].at, newer, made_by)
            for seq, _, newer, slot, made_by in found
        ]

    def _read(self, writer: Writer, space: int) -> None:
        seqs = store.unread(writer, space, BATCH_ENTRIES)
        groups = set[store.Group]()
        for seq, entry in sorted(entries.by_seq(writer, seqs).items()):
            found = statements(entry)
            store.put(writer, space, seq, entries.micros(entry.at or entry.added), found)
            groups |= {(one.subject, one.slot) for one in found}
        for group in sorted(groups):
            store.decide(writer, space, group)
        work.claim(writer, space, store.VIEW, seqs)
        before = store.mark(writer, space)
        store.save_mark(writer, space, replace(before, read=max([before.read, *seqs])))


def _facts(reader: Reader, space: int) -> Iterable[Fact]:
    told = store.known(reader, space)
    found = entries.by_seq(reader, [one.entry for one in told])
    marks = store.marks(reader, [one.entry for one in told])
    for one in told:
        said, entry = one.statement, found[one.entry]
        against = marks.get(one.entry, store.NOTHING).superseded_by
        yield Fact(
            subject=said.subject,
            slot=said.slot,
            value=said.value,
            text=entry.text[said.start : said.stop],
            entry_id=entry.id,
            source=entry.source,
            at=entry.at,
            ends=said.sense == "ends",
            superseded_by=against,
        )
