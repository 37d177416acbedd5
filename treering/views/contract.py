"""The contract of a view: rows that are derived from the journal and can be derived again.

A view receives the entries of the journal in batches: new entries, and entries whose text has
changed. A ``ViewState`` records the last entry that it has read, the version that it read with, and
how far a rebuild has come. Reading, settling, erasing, marking, relations by name, pending work
and rebuilding are loops over the list in ``treering.views.registry``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from treering.embed.contract import Embedder
from treering.errors import TreeringError, ViewError
from treering.journal import damage
from treering.journal.contract import Reader, Value
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.journal.writing import Draft
from treering.llm.contract import LLM
from treering.records import Entry, Progress
from treering.search.marks import Mark, Marker, Quote
from treering.search.relations.contract import Plan, Relation
from treering.search.searcher import Searcher

log = logging.getLogger("treering")


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of a view: its space, the models of its memory, and search.

    ``catch_up`` lets all views read what was added, and erases what has expired, which
    ``erase_expired`` does alone; ``defaults`` are the relations of a search.
    """

    space: Space
    embedder: Callable[[], Embedder]
    llm: Callable[[], LLM]
    has_llm: Callable[[], bool]
    search: Searcher
    marks: Marker
    defaults: Callable[[], Plan]
    catch_up: Callable[[], None]
    erase_expired: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Trace:
    """Where a table may hold something of an entry: in the rows that a column leads to.

    Without a column any row of the space counts, except rows that meet the condition ``but``.
    """

    table: str
    column: str | None = None
    but: str | None = None

    @property
    def query(self) -> str:
        """Whether there is such a row, given the space and, with a column, the entries."""
        condition = f" AND NOT {self.but}" if self.but else ""
        if self.column is not None:
            condition = f" AND {self.column} IN (SELECT value FROM json_each(?))"
        return f"EXISTS (SELECT 1 FROM {self.table} WHERE space = ?{condition})"


def tables_with(reader: Reader, traces: Sequence[Trace], seqs: Collection[int]) -> frozenset[str]:
    """The tables that hold something of some entries of the reader's space."""
    listed, space = json.dumps(list(seqs)), reader.space
    params: list[Value] = []
    for trace in traces:
        params += [space] if trace.column is None else [space, listed]
    row = reader.row(f"SELECT {', '.join(trace.query for trace in traces)}", params)
    flags = row or ()
    return frozenset(trace.table for trace, flag in zip(traces, flags, strict=True) if flag)


@dataclass(frozen=True, slots=True)
class Erased:
    """The rows that a view erased, by kind, and further entries that must go with them."""

    rows: Mapping[str, int] = field(default_factory=dict)
    entries: Sequence[int] = ()


class View:
    """Rows derived from the journal of one space. A method that is not overridden does nothing.

    ``name`` identifies the view in ``rebuild``, in pending work and in the database. ``version``
    names the way its rows are derived; rows of another version are made again. ``traces`` say
    where rows of an entry are found: without any, ``erase`` is not called, and no row of the
    ``kinds`` that it counts is erased. Without any trace it is always called.
    """

    name: ClassVar[str]
    relation_name: ClassVar[str | None] = None
    traces: ClassVar[tuple[Trace, ...]] = ()
    kinds: ClassVar[tuple[str, ...]] = ()

    @property
    def version(self) -> str:
        """The way rows are derived. If the file holds another version, a rebuild is due."""
        return "1"

    @property
    def reread_kind(self) -> str:
        """The kind of queued work whose targets are entries changed since they were read."""
        return reread_kind(self.name)

    @property
    def reads(self) -> bool:
        """Whether the view derives anything from single entries."""
        return type(self).derive is not View.derive

    # ------------------------------------------------------------------ following the journal

    def prepare(self, writer: SpaceWriter) -> None:
        """Create the tables of a view from another package; called before anything is stored.

        Each begins with ``view_`` and the view's name, and has a column ``space``.
        """

    def derive(self, entries: Mapping[int, Entry]) -> Mapping[int, Any]:
        """Return the rows to store for each entry, by sequence number. Slow work belongs here.

        No transaction is open meanwhile. Nothing is stored for an entry that the result leaves
        out. The result for an entry that is erased or changed meanwhile is dropped.
        """
        return {}

    def store(self, writer: SpaceWriter, derived: Mapping[int, Any]) -> None:
        """Store what ``derive`` returned. The view holds no rows of these entries at this point."""

    def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        """Do all pending work, with the language model if there is one.

        ``upgrade`` also redoes what was done without a language model. Raises LLMError,
        EmbeddingError; work that failed stays pending.
        """

    def pending(self, reader: SpaceReader) -> Mapping[str, int]:
        """The number of queued items by kind. Unread entries are counted elsewhere."""
        return {}

    # ------------------------------------------------------------------ erasing and rebuilding

    def redrafts(self, reader: SpaceReader, seqs: Sequence[int]) -> Sequence[tuple[int, Draft]]:
        """Entries whose content must change when others are erased, each with its new content."""
        return ()

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
        """Delete everything derived from entries that are about to be erased or changed."""
        return Erased()

    def renew(self, writer: SpaceWriter, derived: Mapping[int, Any], seqs: Sequence[int]) -> None:
        """Replace the rows of some entries; a rebuild calls this batch after batch."""
        self.erase(writer, seqs)
        self.store(writer, derived)

    def begin_rebuild(self, writer: SpaceWriter) -> None:
        """Drop the rows that no single entry determines; called before a rebuild's first batch.

        Raises LLMNotConfigured if only a language model could replace the dropped rows.
        """

    def rederive(self, entries: Mapping[int, Entry]) -> Mapping[int, Any]:
        """As ``derive``, for a rebuild. It may leave out results that are costly and still hold."""
        return self.derive(entries)

    def finish_rebuild(self, progress: Progress | None = None) -> None:
        """Do the slow work of a rebuild, outside any transaction.

        Raises LLMError, EmbeddingError. The rebuild is then incomplete, and is tried again.
        """
        self.settle(progress)

    def end_rebuild(self, writer: SpaceWriter) -> None:
        """Update the rows that depend on all entries; called when a rebuild ends."""

    # ------------------------------------------------------------------ giving back

    def marks(self, reader: SpaceReader, quotes: Sequence[Quote]) -> Mapping[int, Mark]:
        """The marks of quotes, by place in the sequence. A quote without a mark is left out."""
        return {}

    def relation(self) -> Relation | None:
        """The relation ``relation_name`` between the fragments of the space."""
        return None


@dataclass(frozen=True, slots=True)
class ViewState:
    """The last entry a view has ``read``, and the ``version`` that made its rows.

    During a rebuild ``target`` is the version that makes the rows again, and ``rebuilt`` the last
    entry whose rows are made again.
    """

    version: str
    read: int = 0
    target: str | None = None
    rebuilt: int = 0

    def is_outdated(self, version: str) -> bool:
        """Whether a rebuild is due or under way."""
        return self.target is not None or self.version != version


def view_states(reader: SpaceReader) -> dict[str, ViewState]:
    """The states of the views of a space, by name. A view that has read nothing is left out."""
    with damage.decoding("how far the views have read"):
        stored = damage.checked(dict, json.loads(reader.state.views))
        return {name: ViewState(**state) for name, state in stored.items()}


def save_states(writer: SpaceWriter, states: Mapping[str, ViewState]) -> None:
    """Store the states of all views of a space."""
    stored = {
        name: {key: value for key, value in asdict(state).items() if value or key == "version"}
        for name, state in states.items()
    }
    writer.set_views(json.dumps(stored))


ViewFactory = Callable[[Resources], View]
"""An entry point of the group ``treering.views``: makes a view for the resources of a memory."""


def reread_kind(name: str) -> str:
    """Work whose targets are entries that the view of that name reads again."""
    return f"read:{name}"


def is_foreign(view: View) -> bool:
    """Whether a view comes from another package. Its errors say nothing about the file."""
    return type(view).__module__.partition(".")[0] != "treering"


@contextmanager
def attribute_errors(view: View, entry: Entry | None = None) -> Iterator[None]:
    """Name the view in its errors, but for treering's own errors of its own views.

    The ``entry`` that it was reading is named as well, if there is one. Raises ViewError.
    """
    try:
        yield
    except Exception as error:
        own = isinstance(error, TreeringError) and not is_foreign(view)
        if own or isinstance(error, ViewError):
            raise
        place = f" on entry {entry.id}" if entry else ""
        step = "; mend or uninstall the package that brings it" if is_foreign(view) else ""
        raise ViewError(
            f"view {view.name!r} failed{place}: {type(error).__name__}: {error}{step}"
        ) from error


Derive = Callable[[Mapping[int, Entry]], Mapping[int, Any]]


Derived = tuple[Mapping[int, Any], Mapping[int, ViewError]]
"""The rows to store for entries, and the errors of those that the view could not read."""


def derive_rows(
    view: View, derive: Derive, entries: Mapping[int, Entry], *, logs: bool = True
) -> Derived:
    """The rows that a method of a view derives from entries, together or else one by one.

    ``logs`` says whether entries that the view cannot read are logged.

    Raises TreeringError for what is no matter of a single entry, such as a model that is not there;
    ViewError if a view of another package fails.
    """
    with attribute_errors(view):
        try:
            return derive(entries), {}
        except TreeringError:
            raise
        except Exception:
            # A service that is down would be waited for with each entry.
            if is_foreign(view):
                raise
    rows: dict[int, Any] = {}
    refused: dict[int, ViewError] = {}
    for seq, entry in entries.items():
        try:
            with attribute_errors(view, entry):
                rows |= derive({seq: entry})
        except ViewError as error:
            refused[seq] = error
            if logs:
                log.warning("%s; the entry stays queued, and settle() tries it again", error)
    return rows, refused


BATCH_ENTRIES = 256
"""Entries read, derived and committed together."""

BATCH_BYTES = 1 << 17
"""Bytes of texts in a batch, unless one is longer: about ten seconds of the bundled model, the most
that an interruption loses."""
