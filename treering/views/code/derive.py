"""The code view: the changes of recorded rounds, which mark older talk of that code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from treering.journal.erasure import Trace
from treering.journal.space import SpaceReader, SpaceWriter
from treering.journal.writing import Draft
from treering.records import Entry
from treering.search.marks import Mark, Quote
from treering.views.code.rounds import marks, recorded
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.contract import Erased, View

if TYPE_CHECKING:
    from treering.views.code.index.names import CodeNames
    from treering.views.code.memory import CodeMemory


class CodeChanges(View):
    """When definitions changed or went. The index of a repository is not derived from the
    journal."""

    name: ClassVar[str] = "code"
    relation_name: ClassVar[str | None] = "code"
    traces: ClassVar[tuple[Trace, ...]] = (Trace("code_change", "entry"),)

    def __init__(self, memory: Callable[[], CodeMemory]) -> None:
        self._memory = memory

    def derive(self, entries: Mapping[int, Entry]) -> Mapping[int, RecordedBlock]:
        """See ``View``."""
        rounds = {
            seq: recorded.read(entry, seq)
            for seq, entry in entries.items()
            if entry.source.startswith(recorded.SOURCE)
        }
        return {seq: round_ for seq, round_ in rounds.items() if round_ is not None}

    def store(self, writer: SpaceWriter, derived: Mapping[int, RecordedBlock]) -> None:
        """See ``View``."""
        if derived:
            marks.save_recorded(writer, writer.id, derived.values())

    def redrafts(self, reader: SpaceReader, seqs: Sequence[int]) -> Sequence[tuple[int, Draft]]:
        """See ``View``: rounds whose note was written from one that goes, without the note."""
        return recorded.without_notes(reader, reader.id, seqs)

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        """See ``View``."""
        marks.erase(writer, writer.id, seqs)
        return Erased()

    def marks(self, reader: SpaceReader, quotes: Sequence[Quote]) -> Mapping[int, Mark]:
        """See ``View``: later changes of the code that a quote mentions."""
        entries = {place: quote.entry for place, quote in enumerate(quotes)}
        texts = {place: quote.text for place, quote in enumerate(quotes)}
        against = marks.against(reader, reader.id, entries, texts)
        return {place: Mark(stale=newer) for place, newer in against.items()}

    def relation(self) -> CodeNames:
        """See ``View``."""
        return self._memory()._relation()
