"""What a view is: rows derived from the journal, which follow it and can be made from it again.

A view is handed the entries of the journal in batches, new ones and those that were given another
text. Where it stands is kept for it (``treering.views.progress``): up to which entry it has read,
by which version of itself, and how far a rebuild has come. Whatever concerns every view (taking in,
settling, erasing, marking what is shown, relations by name, pending work, rebuilding) is a loop
over the list in ``treering.views.registry``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from treering.embed.contract import Embedder
from treering.journal.entries import Draft
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.llm.contract import LLM
from treering.recall.search import Searcher
from treering.records import Entry, Progress
from treering.relate.contract import Relation
from treering.relate.registry import Plan
from treering.search.marks import Mark, Marker, Quote


@dataclass(frozen=True, slots=True)
class Resources:
    """What a view may use: its space, the models of the memory it belongs to, and search.

    ``catch_up`` lets all views read what was added; ``defaults`` are the relations of a search.
    """

    space: Space
    embedder: Callable[[], Embedder]
    llm: Callable[[], LLM]
    has_llm: Callable[[], bool]
    search: Searcher
    marks: Marker
    defaults: Callable[[], Plan]
    catch_up: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Erased:
    """What a view erased: rows by kind, and further entries that must go with the erased ones."""

    rows: Mapping[str, int] = field(default_factory=dict)
    entries: Sequence[int] = ()


class View:
    """Rows derived from the journal of one space. A view overrides what it does; the rest is none.

    ``name`` is what it is called in ``rebuild``, in pending work and in the database; ``version``
    names what its rows are derived by: rows of another version are made anew. ``tables`` are its
    own, each with a column ``space``. ``rests_on`` names the view whose rows its own refer to.
    """

    name: ClassVar[str]
    tables: ClassVar[tuple[str, ...]] = ()
    relation_name: ClassVar[str | None] = None
    rests_on: ClassVar[str | None] = None

    @property
    def version(self) -> str:
        """What the rows are derived by; another one in the file makes a rebuild due."""
        return "1"

    @property
    def rereading(self) -> str:
        """Work whose targets are entries that were given another text since they were read."""
        return f"read:{self.name}"

    @property
    def reads(self) -> bool:
        """Whether anything is derived of single entries."""
        return type(self).derive is not View.derive

    # ------------------------------------------------------------------ following the journal

    def prepare(self, writer: SpaceWriter) -> None:
        """Make tables that are not the package's own; called before anything is stored."""

    def derive(self, entries: Mapping[int, Entry]) -> Mapping[int, Any]:
        """What entries become, by sequence number. Slow work is done here, in no transaction.

        An entry that is left out has nothing to be stored. Nothing is kept of what is returned
        for an entry that is erased or changed meanwhile.
        """
        return {}

    def store(self, writer: SpaceWriter, derived: Mapping[int, Any]) -> None:
        """Store what ``derive`` made of entries of which nothing is stored (any more)."""

    def catch_up(self, progress: Progress | None = None) -> None:
        """Do queued work that needs no language model; called after every ``add``."""

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        """Do all pending work, with the language model if there is one.

        ``upgrade`` also does again what was done without one. Raises LLMError, EmbeddingError;
        what is not done stays pending.
        """

    def pending(self, reader: SpaceReader) -> Mapping[str, int]:
        """Work that is queued, by kind, beside the entries that have not been read."""
        return {}

    # ------------------------------------------------------------------ erasing and rebuilding

    def redrafts(self, reader: SpaceReader, seqs: Sequence[int]) -> Sequence[tuple[int, Draft]]:
        """Entries that must say something else once others are erased, with what they then say."""
        return ()

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        """Delete all that was derived from entries which are about to go or to change."""
        return Erased()

    def renew(self, writer: SpaceWriter, derived: Mapping[int, Any], seqs: Sequence[int]) -> None:
        """Replace what is stored of entries; called batch after batch by a rebuild."""
        self.erase(writer, seqs)
        self.store(writer, derived)

    def begin_rebuild(self, writer: SpaceWriter) -> None:
        """Drop what is not derived from single entries; before the first batch of a rebuild.

        Raises LLMNotConfigured where nothing could take the place of what would be dropped.
        """

    def rederive(self, entries: Mapping[int, Entry]) -> Mapping[int, Any]:
        """As ``derive``, for a rebuild, which may keep what was dear to make."""
        return self.derive(entries)

    def finish_rebuild(self, progress: Progress | None = None) -> None:
        """Do the slow work of a rebuild, outside any transaction; what fails is tried again.

        Raises LLMError, EmbeddingError; the rebuild is not complete then.
        """

    def end_rebuild(self, writer: SpaceWriter) -> None:
        """Bring up to date what rests on all entries; with the last batch of a rebuild."""

    def is_current(self, reader: SpaceReader) -> bool:
        """Whether rows of which no version is known are as this version derives them: a sample."""
        return True

    # ------------------------------------------------------------------ giving back

    def marks(self, reader: SpaceReader, quotes: Sequence[Quote]) -> Mapping[int, Mark]:
        """What is known of quotes, by place in the sequence; one with nothing is left out."""
        return {}

    def newer(self, reader: SpaceReader) -> Mapping[int, int]:
        """The entry that holds instead of each superseded one, by sequence number."""
        return {}

    def relation(self) -> Relation | None:
        """The relation ``relation_name`` between the fragments of the space."""
        return None


ViewFactory = Callable[[Resources], View]
"""What the entry point group ``treering.views`` names: a view for the resources of a memory."""
