"""Rebuilding a view: its rows made again from the journal, while the rest goes on as ever.

Each batch commits on its own, together with how far the rebuild has come, so that an interrupted
rebuild resumes there. Until the end an entry has either its old rows or its new rows.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from treering.errors import JournalCorrupt
from treering.journal import work
from treering.journal.space import Space, SpaceReader
from treering.records import Progress
from treering.views import progress as places
from treering.views.contract import View, derived_by, warn_of
from treering.views.follow import BATCH_ENTRIES, queue_unread, read_sound
from treering.views.foreign import prepared, tables_of
from treering.views.progress import ViewState

log = logging.getLogger("treering")


def outdated(views: Sequence[View], reader: SpaceReader) -> list[View]:
    """The views whose rows another version made, or whose rebuild is under way."""
    states = places.states(reader)
    return [v for v in views if v.name in states and states[v.name].is_outdated(v.version)]


def warn_of_outdated(views: Sequence[View], space: Space) -> None:
    """Log a warning for views whose rows another version made, or whose rebuild is under way."""
    with space.read() as reader:
        states = places.states(reader)
        try:
            due = [view.name for view in outdated(views, reader)]
        except JournalCorrupt:
            return  # damaged settings raise where they are used
    begun = [name for name in due if states[name].target is not None]
    if begun:
        log.warning(
            "the rebuild of %s in space %r has not ended; settle() goes on with it",
            ", ".join(begun),
            space.name,
        )
    if other := ", ".join(name for name in due if name not in begun):
        log.warning(
            "another version of treering derived %s of space %r, or other settings did; "
            "settle() or `treering rebuild` derives it again",
            other,
            space.name,
        )


def rebuild(space: Space, view: View, progress: Progress | None = None) -> None:
    """Make the rows of a view again, or resume an interrupted rebuild.

    Raises LLMNotConfigured, before anything is changed, if only a language model could make them;
    LLMError and EmbeddingError if the slow part failed, which is then still to be done.
    """
    state = _begin(space, view)
    total = 0
    if progress:
        with space.read() as reader:
            total = places.count(reader, reader.id, after=0, until=state.read)
    while (done := _renew_batch(space, view)) is not None:
        if progress:
            progress(done, total)
    view.finish_rebuild(progress)
    with space.write() as writer:
        view.end_rebuild(writer)
        state = places.states(writer).get(view.name, state)
        ended = replace(state, version=view.version, target=None, rebuilt=0)
        places.save(writer, {view.name: ended})


def _begin(space: Space, view: View) -> ViewState:
    """Note the version the rebuild makes, unless that rebuild has begun already."""
    with space.write() as writer:
        state = places.states(writer).get(view.name) or ViewState(view.version)
        if state.target != view.version or state.rebuilt == 0:
            with prepared(writer, view):
                view.begin_rebuild(writer)
            tables = tables_of(view, state)
            state = replace(state, target=view.version, rebuilt=0, tables=tables)
            places.save(writer, {view.name: state})
        return state


def _renew_batch(space: Space, view: View) -> int | None:
    """Renew the rows of the next entries. Returns how many are done, or None after the last.

    An entry that was erased or changed meanwhile is skipped: that change renewed its rows. One
    that is damaged keeps the rows it has, and is queued. One that the view fails on is queued, too,
    and has no rows until the view can read it, as if it were new.
    """
    with space.read() as reader:
        state = places.states(reader)[view.name]
        seqs = places.after(reader, reader.id, state.rebuilt, BATCH_ENTRIES)
        due = [seq for seq in seqs if seq <= state.read]
        batch, damaged = read_sound(reader, due)
    if not due:
        return None
    derived = derived_by(view, view.rederive, batch)
    warn_of(derived)
    with space.write() as writer:
        current, _ = read_sound(writer, list(batch))
        as_read = [seq for seq in batch if current.get(seq) == batch[seq]]
        # What was queued for its new text is read here; stored once more it would stand twice.
        work.claim(writer, writer.id, view.rereading, as_read)
        queue_unread(writer, view, damaged)
        queue_unread(writer, view, {s: e for s, e in derived.refused.items() if s in as_read})
        rows = {s: derived.rows[s] for s in as_read if s in derived.rows}
        view.renew(writer, rows, as_read)
        state = places.states(writer)[view.name]
        last = max(due)
        places.save(writer, {view.name: replace(state, rebuilt=last)})
        return places.count(writer, writer.id, after=0, until=last)
