"""The facts view: statements of entries, and which of them supersede others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import ClassVar

from treering.journal import entries, supersession, work
from treering.journal.erasure import Trace
from treering.journal.space import SpaceReader, SpaceWriter
from treering.records import Entry, Progress
from treering.search.marks import UNMARKED, Mark, Quote
from treering.search.terms import terms_version
from treering.views.contract import Erased, View
from treering.views.facts import store
from treering.views.facts.change import DatedStatement
from treering.views.facts.extract import FactExtractor
from treering.views.facts.forms import read_forms
from treering.views.facts.record import FORMS_READER, Statement, speaker_of, states_facts

FORMS_VERSION = 13
"""Raised with every change to the forms or to the superseding rules. All facts are then reread."""

STALE_ATTRIBUTES = ("home", "employer")
"""Attributes whose values are names: other messages with a superseded name may be outdated, too."""

MIN_NAME_CHARS = 3

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
        """See ``View``. A mark says what supersedes the entry of a quote or outdates it.

        What a person said supersedes an entry wins over both readers.
        """
        marks = _stale(reader, quotes, reader.as_of)
        for found in store.replacements(reader, reader.as_of, {quote.seq for quote in quotes}):
            before = marks.get(found.entry, UNMARKED)  # the newest counts
            marks[found.entry] = replace(before, superseded_by=found.newer)
        return {place: marks[quote.seq] for place, quote in enumerate(quotes) if quote.seq in marks}

    def newer(self, reader: SpaceReader) -> Mapping[int, int]:
        """See ``View``."""
        as_of = reader.as_of
        if as_of is None:
            newer = store.newer_entries(reader)
        else:
            newer = {older.entry: now.entry for older, now in store.pairs(reader, as_of)}
        return newer | dict(supersession.pairs(reader, reader.id, as_of))


def _stale(reader: SpaceReader, quotes: Sequence[Quote], as_of: int | None) -> dict[int, Mark]:
    """Marks of entries that name a home or employer that their speaker has left since."""
    said = [quote for quote in quotes if states_facts(quote.entry)]
    speakers = sorted({speaker_of(quote.entry) for quote in said})
    groups, names = store.of_groups([*product(speakers, STALE_ATTRIBUTES)])
    pairs = store.pairs(reader, as_of, groups, *names) if said else []
    entry_of = entries.there(reader, [end.entry for pair in pairs for end in pair])
    marks = dict[int, Mark]()
    for older, newer in pairs:  # the newest counts
        mark = Mark(stale=replace(store.newer_of(older, newer, entry_of), of=None))
        marks |= {quote.seq: mark for quote in said if _is_outdated(quote, older, newer)}
    return marks


def _is_outdated(quote: Quote, older: DatedStatement, newer: DatedStatement) -> bool:
    """Whether a quote's entry names a superseded value and was said before the newer statement."""
    entry, name = quote.entry, older.statement.value
    at = entries.micros(entry.at or entry.added)
    return (
        len(name) >= MIN_NAME_CHARS
        and name in entry.text
        and speaker_of(entry) == older.statement.subject
        and quote.seq != older.entry
        and (at, quote.seq) < (newer.at, newer.entry)
    )
