"""Letting every view of a space read its journal: in step, in batches that commit alone.

What entries become is made outside any transaction, as an embedder may be slow, and stored in one
for all views, together with how far each has come. A crash in between repeats one batch; of two
processes that read the same entries, one stores.
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
from treering.views.contract import View
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
        """What one view has not read of them."""
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

        A view that fails does not hold up the others, and goes on from there the next time. Its
        error is raised once they are done: as ViewError, if it is not one of treering's own.
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
        """How many entries each view has still to read; one that has read all is left out."""
        known = places.states(reader, reader.id)
        queued = work.counts(reader, reader.id)
        behind: dict[int, int] = {}
        sizes: dict[str, int] = {}
        for view in self._views:
            if not view.reads:
                continue
            read = known[view.name].read if view.name in known else 0
            if read not in behind:
                behind[read] = places.count(reader, reader.id, after=read)
            sizes[view.name] = behind[read] + queued.get(view.rereading, 0)
        return {name: size for name, size in sizes.items() if size}

    # ------------------------------------------------------------------ inside

    def _next(self, failures: Mapping[str, Exception]) -> _Batch | None:
        """The next entries that some view is to read; of views that have failed, none."""
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
            found = dict(sorted(entries.by_seq(reader, sorted(seqs)).items()))
        last = fresh[-1] if fresh else read
        return _Batch(found, last, again, states) if seqs else None

    def _states(self, reader: SpaceReader) -> dict[str, ViewState]:
        """Where every view stands; one that is new to a space that has been read may stand at its
        end, with all that came before left to a rebuild.
        """
        states = places.states(reader, reader.id)
        late = bool(states) and places.count(reader, reader.id, after=0) > NEWCOMER_ENTRIES
        for view in self._views:
            if view.name not in states:
                states[view.name] = (
                    ViewState("", max(state.read for state in states.values()), view.version)
                    if late
                    else ViewState(view.version)
                )
        return states

    def _derived(
        self, batch: _Batch, failures: dict[str, Exception]
    ) -> dict[str, Mapping[int, Any]]:
        """What every view makes of its part of a batch, by the view's name."""
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
        """Store for all views in one transaction or, if one of them fails, in one for each."""
        try:
            with self._space.write() as writer:
                current = entries.by_seq(writer, list(batch.entries))
                as_read = {s for s, entry in batch.entries.items() if current.get(s) == entry}
                states = self._states(writer)
                for view in views:
                    _store_of(writer, view, states[view.name], batch, derived[view.name], as_read)
        except JournalError:
            raise
        except Exception as error:
            if len(views) == 1:
                _note(views[0], error, failures)
                return
            for view in views:
                self._store([view], batch, derived, failures)


def _store_of(
    writer: SpaceWriter,
    view: View,
    state: ViewState,
    batch: _Batch,
    derived: Mapping[int, Any],
    as_read: Set[int],
) -> None:
    """Store what a view made of a batch, but for entries that others took, erased or changed.

    An entry that was given another text since it was read is queued under its number for that.
    """
    if state.read == 0:
        view.prepare(writer)
    queued = batch.again.get(view.name, frozenset())
    again = work.claim(writer, writer.id, view.rereading, queued & as_read)
    ours = {seq for seq in as_read if seq > state.read or seq in again}
    view.store(writer, {seq: made for seq, made in derived.items() if seq in ours})
    if batch.last > state.read or view.name not in batch.states:
        state = replace(state, read=max(state.read, batch.last))
    places.save(writer, writer.id, view.name, state)


@contextmanager
def _noted(view: View, failures: dict[str, Exception]) -> Iterator[None]:
    """Note what a view raises, so that the others go on; what concerns the file is raised."""
    try:
        yield
    except JournalError:
        raise
    except Exception as error:  # a view of another package may raise anything
        _note(view, error, failures)


def _note(view: View, error: Exception, failures: dict[str, Exception]) -> None:
    log.warning("view %r is delayed; settle() retries: %s", view.name, error)
    failures[view.name] = error
