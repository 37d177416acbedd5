"""The facts view: what entries state, and which statement supersedes which. Needs no model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from treering import forks
from treering.errors import LLMReplyError
from treering.journal import entries, supersession
from treering.journal.space import SpaceReader, SpaceWriter
from treering.journal.traces import Trace
from treering.records import Entry, Progress
from treering.search.marks import UNMARKED, Mark, Quote
from treering.search.terms import terms_version
from treering.views.contract import Erased, View
from treering.views.facts import store, then
from treering.views.facts.form import DOES
from treering.views.facts.record import Statement
from treering.views.facts.store import Group

log = logging.getLogger("treering")

FORMS_VERSION = 11
"""Raised with every change to the forms or to the superseding rules. All facts are then reread."""

Stated = tuple[int, list[Statement]]
"""When an entry was said, in microseconds since the epoch, and what it states."""


class Facts(View):
    """Keeps statements, and which of them are superseded by later ones."""

    name: ClassVar[str] = "facts"
    tables: ClassVar[tuple[str, ...]] = ("statement", "superseded")
    kinds: ClassVar[tuple[str, ...]] = ("statements",)
    traces: ClassVar[tuple[Trace, ...]] = (
        Trace("statement", "entry"),
        Trace("superseded", "entry"),
        Trace("superseded", "newer"),
    )

    def __init__(self, judge: Callable[[], int]) -> None:
        self._judge = judge

    @property
    def version(self) -> str:
        """The version of the forms and of the stems by which values are compared."""
        return f"{FORMS_VERSION}.{terms_version()}"

    def derive(self, entries_: Mapping[int, Entry]) -> Mapping[int, Stated]:
        """See ``View``."""
        with forks.importing():
            from treering.views.facts.statement import statements  # here: see ``record``

        stated = {seq: statements(entry) for seq, entry in entries_.items()}
        return {
            seq: (entries.micros(entries_[seq].at or entries_[seq].added), entry_statements)
            for seq, entry_statements in stated.items()
            if entry_statements
        }

    def store(self, writer: SpaceWriter, derived: Mapping[int, Stated]) -> None:
        """See ``View``."""
        self._decide(writer, self._put(writer, derived))

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:  # noqa: ARG002
        """See ``View``. ``upgrade`` asks the model what the rules cannot tell."""
        if not upgrade:
            return
        try:
            self._judge()
        except LLMReplyError as error:  # a model that is not up to it is no failure of the memory
            log.warning("what has changed is left to the rules: %s", error)

    def _put(self, writer: SpaceWriter, derived: Mapping[int, Stated]) -> set[Group]:
        groups = set[Group]()
        for seq, (at, entry_statements) in derived.items():
            store.put(writer, writer.id, seq, at, entry_statements)
            groups |= {(statement.subject, statement.slot) for statement in entry_statements}
        return groups

    def _decide(self, writer: SpaceWriter, groups: Iterable[Group]) -> None:
        for group in sorted(groups):
            # Only an end supersedes a habit, so a group of habits without one needs no deciding.
            if not group[1].startswith(DOES) or store.has_end(writer, writer.id, group):
                store.decide(writer, writer.id, group)

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        """See ``View``."""
        return Erased({"statements": store.erase(writer, writer.id, seqs)})

    def renew(
        self, writer: SpaceWriter, derived: Mapping[int, Stated], seqs: Sequence[int]
    ) -> None:
        """See ``View``. A language model's verdicts stay."""
        groups = store.drop_rules(writer, writer.id, seqs)
        self._decide(writer, groups | self._put(writer, derived))

    def is_current(self, reader: SpaceReader) -> bool:
        """See ``View``. Compares the newest stored statements with those read anew."""
        newest = store.newest_entries(reader, reader.id)
        stated = self.derive(entries.by_seq(reader, newest))
        return all(
            store.states_this(reader, seq, stated[seq][1] if seq in stated else [])
            for seq in newest
        )

    def marks(self, reader: SpaceReader, quotes: Sequence[Quote]) -> Mapping[int, Mark]:
        """See ``View``. A mark says what supersedes the entry of a quote or outdates it."""
        seqs, as_of = [quote.seq for quote in quotes], reader.as_of
        marks = store.marks(reader, seqs) if as_of is None else then.marks(reader, seqs, as_of)
        for said in store.by_person(reader, as_of, seqs):
            before = marks.get(said.older, UNMARKED)
            marks[said.older] = replace(before, superseded_by=said.statement)
        return {place: marks[quote.seq] for place, quote in enumerate(quotes) if quote.seq in marks}

    def newer(self, reader: SpaceReader) -> Mapping[int, int]:
        """See ``View``."""
        as_of = reader.as_of
        if as_of is None:
            newer = store.newer_entries(reader, reader.id)
        else:
            newer = {r.older: r.newer for r in then.replacements(reader, reader.id, as_of)}
        return newer | dict(supersession.pairs(reader, reader.id, as_of))
