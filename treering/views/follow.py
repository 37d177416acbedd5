"""Letting every view of a space read its journal: in step, in batches that commit alone.

Views derive their rows outside any transaction, because an embedder may be slow. One transaction
then stores the rows of all views, together with how far each view has come. After a crash in
between one batch is repeated. If two processes read the same entries, only one stores its rows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from treering.errors import JournalError, TreeringError, ViewError
from treering.journal import entries, work
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.records import Entry, Progress
from treering.views import progress as places
from treering.views.contract import View, is_foreign
from treering.views.progress import ViewState

log = logging.getLogger("treering")

BATCH_ENTRIES = 64
"""Entries read, derived and committed together."""

NEWCOMER_ENTRIES = 256
"""A view that is new to a space reads so many entries at once; more are left to a rebuild."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Entries to be read: new ones, up to ``last``, and those that views are to read again."""

    entries: Mapping[int, Entry]
    last: int
    again: Mapping[str, frozenset[int]]
    states: Mapping[str, ViewState]

    def of(self, view: View) -> dict[int, Entry]:
        """The entries of this batch that a view has not read."""
        read = self.states[view.name].read if view.name in self.states else 0
        again = self.again.get(view.name, frozenset())
        return {seq: entry for seq, entry in self.entries.items() if seq > read or seq in again}


class Follower:
    """Lets the views of one space follow its journal. One thread at a time."""

    def __init__(self, space: Space, views: Sequence[View]) -> None:
        self._space = space
        self._views = views

    def follow(self, progress: Progress | None = None) -> None:
        """Let every view read what it has not read.

        A view that fails does not hold up the others, and resumes where it failed the next time.
        Its error is raised when the others are done, as ViewError if it is not a TreeringError.
        """
        failures: dict[str, Exception] = {}
        done = 0
        total = self.unread_entries() if progress else 0
        while batch := self._next(failures):
            derived = self._derived(batch, failures)
            self._store([v for v in self._views if v.name in derived], batch, derived, failures)
            done += len(batch.entries)
            if progress:
                progress(min(done, total), total)
        for name, error in failures.items():
            if isinstance(error, TreeringError):
                raise error
            raise ViewError(
                f"view {name!r} failed: {type(error).__name__}: {error}; what it has not read is "
                "pending, and settle() tries again"
            ) from error

    def unread_entries(self) -> int:
        """How many entries some view has still to read."""
        with self._space.read() as reader:
            return max(self.unread(reader).values(), default=0)

    def unread(self, reader: SpaceReader) -> dict[str, int]:
        """How many entries each view has still to read. A view that has read all is left out."""
        states = places.states(reader, reader.id)
        kinds = [view.rereading for view in self._views if view.reads]
        queued = work.counts(reader, reader.id, kinds)
        behind: dict[int, int] = {}
        sizes: dict[str, int] = {}
        for view in self._views:
            if not view.reads:
                continue
            read = states[view.name].read if view.name in states else 0
            if read not in behind:
                behind[read] = places.count(reader, reader.id, after=read)
            sizes[view.name] = behind[read] + queued.get(view.rereading, 0)
        return {name: size for name, size in sizes.items() if size}

    # ------------------------------------------------------------------ inside

    def _next(self, failures: Mapping[str, Exception]) -> _Batch | None:
        """The next entries to read. Views that have failed are not considered."""
        views = [view for view in self._views if view.reads and view.name not in failures]
        with self._space.read() as reader:
            if not reader.id:
                return None
            states = self._states(reader)
            read = min((states[view.name].read for view in views), default=0)
            fresh = places.after(reader, reader.id, read, BATCH_ENTRIES) if views else []
            again = {
                view.name: frozenset(work.queued(reader, reader.id, view.rereading, BATCH_ENTRIES))
                for view in views
            }
            seqs = frozenset(fresh).union(*again.values())
            batch = dict(sorted(entries.by_seq(reader, sorted(seqs)).items()))
        last = fresh[-1] if fresh else read
        return _Batch(batch, last, again, states) if seqs else None

    def _states(self, reader: SpaceReader) -> dict[str, ViewState]:
        """Where every view stands.

        In a large space a new view starts at the end and leaves the earlier entries to a rebuild:
        else the next ``add`` would wait until the view has read the whole journal.
        """
        states = places.states(reader, reader.id)
        new = [view for view in self._views if view.name not in states]
        if not new:
            return states
        end = max((state.read for state in states.values()), default=0)
        late = end > 0 and places.count(reader, reader.id, after=0) > NEWCOMER_ENTRIES
        for view in new:
            states[view.name] = ViewState(
                version=places.UNKNOWN if late else view.version,
                read=end if late else 0,
                target=view.version if late else None,
                tables=view.tables if is_foreign(view) else (),
            )
        return states

    def _derived(
        self, batch: _Batch, failures: dict[str, Exception]
    ) -> dict[str, Mapping[int, Any]]:
        """What every view derives from its part of a batch, by the view's name."""
        derived: dict[str, Mapping[int, Any]] = {}
        for view in self._views:
            if view.name not in failures:
                with _noted(view, failures):
                    derived[view.name] = view.derive(batch.of(view))
        return derived

    def _store(
        self,
        views: Sequence[View],
        batch: _Batch,
        derived: Mapping[str, Mapping[int, Any]],
        failures: dict[str, Exception],
    ) -> None:
        """Store for all views in one transaction; if a view fails, in one transaction per view."""
        try:
            with self._space.write() as writer:
                # Deriving took its time. An entry that was changed or erased meanwhile is left to
                # whoever changed it: that queued it for reading, or deleted it.
                current = entries.by_seq(writer, list(batch.entries))
                as_read = {s for s, entry in batch.entries.items() if current.get(s) == entry}
                stored_states = places.states(writer, writer.id)
                states = self._states(writer)
                for view in views:
                    if view.name not in stored_states:
                        view.prepare(writer)
                    _store_of(writer, view, states[view.name], batch, derived[view.name], as_read)
        except Exception as error:
            if len(views) > 1:
                for view in views:
                    self._store([view], batch, derived, failures)
            elif isinstance(error, JournalError) and not is_foreign(views[0]):
                raise
            else:
                _note(views[0], error, failures)


def _store_of(
    writer: SpaceWriter,
    view: View,
    state: ViewState,
    batch: _Batch,
    derived: Mapping[int, Any],
    as_read: Set[int],
) -> None:
    """Store what a view derived from a batch.

    Left out are entries that another process stored, and entries erased or changed meanwhile.
    """
    queued = batch.again.get(view.name, frozenset())
    again = work.claim(writer, writer.id, view.rereading, queued & as_read)
    work.claim(writer, writer.id, view.rereading, queued - batch.entries.keys())  # erased before
    ours = {seq for seq in as_read if seq > state.read or seq in again}
    view.store(writer, {seq: rows for seq, rows in derived.items() if seq in ours})
    if batch.last > state.read or view.name not in batch.states:
        state = replace(state, read=max(state.read, batch.last))
    places.save(writer, writer.id, view.name, state)


@contextmanager
def _noted(view: View, failures: dict[str, Exception]) -> Iterator[None]:
    """Note the error of a view, so that the others go on. An error of the file is raised."""
    try:
        yield
    except JournalError:
        raise
    except Exception as error:  # a view of another package may raise anything
        _note(view, error, failures)


def _note(view: View, error: Exception, failures: dict[str, Exception]) -> None:
    log.warning("view %r is delayed; settle() retries: %s", view.name, error)
    failures[view.name] = error
