"""Doing what is pending: reading new entries, queued work, and rebuilding views.

A rebuild makes the rows of a view again from the journal, while the rest goes on. Each batch
commits on its own, together with how far the rebuild has come, so that an interrupted rebuild
resumes there. Until the end an entry has either its old rows or its new rows.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from treering.errors import (
    JournalBusy,
    LLMNotConfigured,
    TreeringError,
    UnknownName,
)
from treering.journal import work
from treering.journal.space import Space, SpaceReader
from treering.records import Progress
from treering.search.snapshot import FragmentSource
from treering.views.contract import (
    BATCH_ENTRIES,
    View,
    ViewState,
    attribute_errors,
    derive_rows,
    save_states,
    view_states,
)
from treering.views.follow import (
    SETTLE_PATIENCE_S,
    Follower,
    collect_errors,
    count_entries,
    entries_after,
    queue_unread,
    read_sound,
)
from treering.views.foreign import prepare_tables

log = logging.getLogger("treering")


class Settler:
    """Brings the views of one space up to date with its journal."""

    def __init__(
        self, space: Space, views: Sequence[View], follower: Follower, corpus: FragmentSource
    ) -> None:
        self._space = space
        self._views = views
        self._follower = follower
        self._corpus = corpus

    def settle(self, progress: Progress | None, *, upgrade: bool) -> None:
        """Do all pending work now, rebuilds that are due included.

        Raises the first error when all other work is done; what failed stays queued.
        """
        failures: list[TreeringError] = []
        with collect_errors(failures), self._follower.turn:
            self._follower.follow(progress, retry=True)
        with self._space.read() as reader:
            due = outdated_views(self._views, reader)
        for view in due:
            with collect_errors(failures):
                self._rebuild_if_able(view, progress, due=True)
        for view in self._views:
            with collect_errors(failures), attribute_errors(view):
                view.settle(progress, upgrade=upgrade)
        with collect_errors(failures):
            self._corpus.settle(progress)
        if failures:
            raise failures[0]

    def rebuild(self, names: Sequence[str], progress: Progress | None = None) -> None:
        """Make the rows of the named views again from the journal; of all views, if none is named.

        Raises UnknownName; and, when all other work is done, the first of LLMError, EmbeddingError,
        JournalCorrupt for entries that are damaged and keep the rows they have, ViewError for
        entries that a view fails on, and LLMNotConfigured for a named view. Unnamed views that
        need a language model stay as they are without one.
        """
        by_name = {view.name: view for view in self._views}
        for name in names:
            if not isinstance(name, str) or name not in by_name:
                raise UnknownName(
                    f"no view {name!r}; there are {', '.join(by_name)}", param="views"
                )
        with self._follower.turn:
            self._follower.follow(progress)
        failures: list[TreeringError] = []
        for view in [by_name[name] for name in names] or self._views:
            with collect_errors(failures):
                if names:
                    self._rebuild(view, progress)
                else:
                    self._rebuild_if_able(view, progress)
        if failures:
            raise failures[0]

    def _rebuild_if_able(self, view: View, progress: Progress | None, *, due: bool = False) -> None:
        """Rebuild a view, unless it needs a language model that is missing."""
        try:
            self._rebuild(view, progress, due=due)
        except LLMNotConfigured as error:
            log.warning("%s is not rebuilt: %s", view.name, error)

    def _rebuild(self, view: View, progress: Progress | None, *, due: bool = False) -> None:
        """Rebuild a view; with ``due`` unless another process does so, or has done so meanwhile.

        Without it, JournalBusy is raised if another process does so for long.
        """
        with self._space.task(f"rebuild:{view.name}", SETTLE_PATIENCE_S) as is_ours:
            if due:
                with self._space.read() as reader:
                    due = is_ours and view in outdated_views(self._views, reader)
                if not due:
                    return
            if not is_ours:
                raise JournalBusy(f"another process rebuilds {view.name!r}; try again later")
            with attribute_errors(view):
                rebuild(self._space, view, progress)  # adds and searches go on meanwhile
        with self._follower.turn:
            self._follower.follow(progress, retry=True)  # says which entries are damaged


def outdated_views(views: Sequence[View], reader: SpaceReader) -> list[View]:
    """The views whose rows another version made, or whose rebuild is under way."""
    states = view_states(reader)
    return [v for v in views if v.name in states and states[v.name].is_outdated(v.version)]


def rebuild(space: Space, view: View, progress: Progress | None = None) -> None:
    """Make the rows of a view again, or resume an interrupted rebuild.

    Raises LLMNotConfigured, before anything is changed, if only a language model could make them;
    LLMError and EmbeddingError if the slow part failed, which is then still to be done.
    """
    state = _begin(space, view)
    total = 0
    if progress:
        with space.read() as reader:
            total = count_entries(reader, until=state.read)
    while view.reads and (done := _renew_batch(space, view)) is not None:
        if progress:
            progress(done, total)
    view.finish_rebuild(progress)
    with space.write() as writer:
        view.end_rebuild(writer)
        states = view_states(writer)
        ended = replace(states.get(view.name, state), version=view.version, target=None, rebuilt=0)
        save_states(writer, {**states, view.name: ended})


def _begin(space: Space, view: View) -> ViewState:
    """Note the version the rebuild makes, unless that rebuild has begun already."""
    with space.write() as writer:
        states = view_states(writer)
        state = states.get(view.name) or ViewState(view.version)
        if state.target != view.version or state.rebuilt == 0:
            with prepare_tables(writer, view):
                view.begin_rebuild(writer)
            state = replace(state, target=view.version, rebuilt=0)
            save_states(writer, {**states, view.name: state})
        return state


def _renew_batch(space: Space, view: View) -> int | None:
    """Renew the rows of the next entries. Returns how many are done, or None after the last.

    An entry that was erased or changed meanwhile is skipped: that change renewed its rows. One
    that is damaged keeps the rows it has, and is queued. One that the view fails on is queued, too,
    and stays empty until the view can read it, as if it were new.
    """
    with space.read() as reader:
        state = view_states(reader)[view.name]
        seqs = entries_after(reader, state.rebuilt, BATCH_ENTRIES)
        due = [seq for seq in seqs if seq <= state.read]
        batch, damaged = read_sound(reader, due)
    if not due:
        return None
    derived, refused = derive_rows(view, view.rederive, batch)
    with space.write() as writer:
        current, _ = read_sound(writer, list(batch))
        as_read = [seq for seq in batch if current.get(seq) == batch[seq]]
        # Entries that were queued for their new text are read here, and not a second time.
        work.claim(writer, writer.id, view.reread_kind, as_read)
        queue_unread(writer, view, damaged)
        queue_unread(writer, view, {s: e for s, e in refused.items() if s in as_read})
        rows = {s: derived[s] for s in as_read if s in derived}
        view.renew(writer, rows, as_read)
        states, last = view_states(writer), max(due)
        save_states(writer, {**states, view.name: replace(states[view.name], rebuilt=last)})
        return count_entries(writer, until=last)
