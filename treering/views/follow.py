"""Letting every view of a space read its journal: in step, in batches that commit alone.

Views derive their rows outside any transaction, because an embedder may be slow. One transaction
then stores the rows of all views, together with how far each view has come. After a crash in
between one batch is repeated. If two processes read the same entries, only one stores its rows.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from treering.errors import (
    EmbeddingError,
    JournalCorrupt,
    JournalError,
    LLMError,
    MissingExtra,
    TreeringError,
    ViewError,
)
from treering.journal import entries, work
from treering.journal.contract import Reader
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.records import Entry, Progress
from treering.views.contract import (
    BATCH_BYTES,
    BATCH_ENTRIES,
    Derived,
    View,
    ViewState,
    attribute_errors,
    derive_rows,
    is_foreign,
    save_states,
    view_states,
)
from treering.views.foreign import prepare_tables

if TYPE_CHECKING:
    from treering.views.fragments.build import Fragments

log = logging.getLogger("treering")

SETTLE_PATIENCE_S = 60.0
"""``settle`` waits so long for another process that does some of the work."""

CALLS_IN_FLIGHT = 8
"""Calls of a language model at a time, which small local servers and rate limits allow."""

_READING = "read"
"""The task of letting the views read; taken for a batch, so that several processes take turns."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Entries to read: new ones up to ``last``, and ``again`` those that views read a second time.

    ``damaged`` are entries that cannot be read as they were stored. ``digests`` are those of all,
    and ``read`` is how far every view had read, when the batch was read. No more entries were there
    then if it ``is_last``.
    """

    entries: Mapping[int, Entry]
    digests: Mapping[int, bytes]
    damaged: Mapping[int, JournalCorrupt]
    last: int
    again: Mapping[str, frozenset[int]]
    read: Mapping[str, int]
    is_last: bool

    def entries_for(self, view: View) -> dict[int, Entry]:
        """The entries of the batch that one view has not read."""
        read = self.read.get(view.name, 0)
        again = self.again.get(view.name, frozenset())
        return {seq: entry for seq, entry in self.entries.items() if seq > read or seq in again}


@dataclass(slots=True)
class _Run:
    """One call of ``follow``: the views that failed in it, and the entries that are damaged, or
    that a view could not read."""

    retry: bool
    failures: dict[str, TreeringError] = field(default_factory=dict)
    damaged: dict[int, JournalCorrupt] = field(default_factory=dict)
    refused: dict[str, dict[int, ViewError]] = field(default_factory=lambda: defaultdict(dict))

    def unreadable(self, view: View) -> Set[int]:
        """The entries that a view cannot read."""
        return self.damaged.keys() | self.refused[view.name].keys()

    def errors(self) -> list[TreeringError]:
        """The errors to raise, of single entries only after a retry."""
        errors = list(self.failures.values())
        if self.retry:
            errors += self.damaged.values()
            errors += (error for refused in self.refused.values() for error in refused.values())
        return errors


class Follower:
    """Lets the views of one space follow its journal. One thread at a time has ``turn``."""

    def __init__(self, space: Space, views: Sequence[View], fragments: Fragments) -> None:
        self.turn = threading.Lock()
        self._space = space
        self._views = views
        self._fragments = fragments

    def follow(
        self,
        progress: Progress | None = None,
        *,
        retry: bool = False,
        patience_s: float = SETTLE_PATIENCE_S,
        leave: Callable[[], bool] = lambda: False,
    ) -> None:
        """Let every view read new entries, then embed fragments.

        A view that fails does not hold up the others, and continues there the next time. Its error
        is raised last: as ViewError, if it comes from another package. An entry that is damaged, or
        that one of treering's own views fails on, stays queued. ``retry`` reads such entries again,
        and raises JournalCorrupt or ViewError for the first that still cannot be read. Wait
        ``patience_s`` seconds altogether for other processes that read, and begin no batch once
        ``leave`` returns True.
        """
        self._fragments.begin()
        run = _Run(retry)
        self._run(run, progress, patience_s, leave)
        errors = run.errors()
        with collect_errors(errors):
            self._fragments.catch_up(progress)
        for error in errors:
            raise error

    def _run(
        self, run: _Run, progress: Progress | None, patience_s: float, leave: Callable[[], bool]
    ) -> None:
        """Read batch after batch, as ``follow`` says."""
        done = 0
        total = 0
        if progress:
            with self._space.read() as reader:
                total = max(self.unread(reader).values(), default=0)
        until = time.monotonic() + patience_s
        while not leave():
            with self._space.task(_READING) as is_ours:
                batch = self._next(run)
                if batch is None:
                    break
                if is_ours:
                    derived = self._derive(batch, run)
                    views = [view for view in self._views if view.name in derived]
                    is_last = self._store(views, batch, derived, run)
                    done += len(batch.entries)
                    if progress:
                        progress(min(done, total), total)
                    if is_last:
                        break
                    continue
            # Another process reads, and finds what was added here, too.
            if not self._space.await_task(_READING, until - time.monotonic()):
                break

    def unread(
        self, reader: SpaceReader, *, untried: bool = False, also: Sequence[str] = ()
    ) -> dict[str, int]:
        """Return how many entries each view has still to read, without views that have read all.

        ``untried`` leaves out entries that could not be read. ``also`` names further kinds of work
        to count.
        """
        states = self._states(reader)
        kinds = [view.reread_kind for view in self._views if view.reads]
        queued = work.counts(reader, reader.id, [*kinds, *also], untried=untried)
        behind: dict[int, int] = {}
        sizes = {kind: queued.get(kind, 0) for kind in also}
        for view in self._views:
            if not view.reads:
                continue
            read = states[view.name].read
            if read not in behind:
                behind[read] = count_entries(reader, after=read)
            sizes[view.name] = behind[read] + queued.get(view.reread_kind, 0)
        return {name: size for name, size in sizes.items() if size}

    def unread_bytes(self, reader: SpaceReader, name: str) -> int:
        """How many bytes of text the view of that name has still to read."""
        return entries.text_bytes_after(reader, self._states(reader)[name].read)

    # ------------------------------------------------------------------ inside

    def _next(self, run: _Run) -> _Batch | None:
        """The next entries to read. Views that have failed are not considered."""
        views = [view for view in self._views if view.reads and view.name not in run.failures]
        with self._space.read() as reader:
            if not reader.id or not views:
                return None
            stored_states = view_states(reader)
            states = self._with_new_views(stored_states)
            read = min(states[view.name].read for view in views)
            fresh = entries_after(reader, read, BATCH_ENTRIES)
            again = self._queued_entries(reader, views, run)
            queued = frozenset().union(*again.values())
            due = sorted(queued.union(fresh))
            seqs = entries.within(reader, due, BATCH_BYTES)
            is_last = not queued and len(seqs) == len(due) < BATCH_ENTRIES
            fresh = [seq for seq in fresh if seq <= seqs[-1]] if seqs else []
            again = {name: of_view.intersection(seqs) for name, of_view in again.items()}
            sound, damaged = read_sound(reader, seqs)
            digests = entries.digests_by_seq(reader, list(sound)) if sound else {}
        run.damaged |= damaged
        last = fresh[-1] if fresh else read
        # A view that is new to the space is noted, though there may be nothing to read for it now.
        is_new = any(view.name not in stored_states for view in views)
        if not seqs and not is_new:
            return None
        places_read = {name: state.read for name, state in states.items()}
        return _Batch(sound, digests, damaged, last, again, places_read, is_last)

    def _queued_entries(
        self, reader: SpaceReader, views: Sequence[View], run: _Run
    ) -> dict[str, frozenset[int]]:
        """Entries that views are to read again; those they cannot, once in a run that retries."""
        kinds = [view.reread_kind for view in views]
        counts = work.counts(reader, reader.id, kinds, untried=not run.retry)
        queued = dict.fromkeys((view.name for view in views), frozenset[int]())
        for view in views:
            if view.reread_kind in counts:
                unreadable = run.unreadable(view)
                limit = BATCH_ENTRIES + len(unreadable)
                untried = not run.retry
                seqs = work.targets(reader, reader.id, view.reread_kind, limit, untried=untried)
                queued[view.name] = frozenset(seqs) - unreadable
        return queued

    def _states(self, reader: SpaceReader) -> dict[str, ViewState]:
        """The states of all views, also of those that have stored nothing."""
        return self._with_new_views(view_states(reader))

    def _with_new_views(self, stored_states: Mapping[str, ViewState]) -> dict[str, ViewState]:
        """The states with those of views that are new to the space.

        Where others have read entries, a new view leaves these to a rebuild: else the next ``add``
        would wait until it has read the whole journal.
        """
        end = max((state.read for state in stored_states.values()), default=0)
        new = {
            view.name: ViewState(view.version, end, view.version if end else None)
            for view in self._views
            if view.name not in stored_states
        }
        return {**stored_states, **new}

    def _derive(self, batch: _Batch, run: _Run) -> dict[str, Derived]:
        """The rows that every view derives from its part of a batch, by the view's name."""
        derived: dict[str, Derived] = {}
        for view in self._views:
            if view.name in run.failures:
                continue
            try:
                unread = batch.entries_for(view)
                derived[view.name] = derive_rows(view, view.derive, unread, logs=not run.retry)
                run.refused[view.name].update(derived[view.name][1])
            except JournalError:
                raise
            except TreeringError as error:
                _note(view, error, run)
        return derived

    def _store(
        self, views: Sequence[View], batch: _Batch, derived: Mapping[str, Derived], run: _Run
    ) -> bool:
        """Store for all views in one transaction; if a view fails, in one transaction per view.

        Return True if nothing is left to read then, also of others. False if that is not known.
        """

        def store(writer: SpaceWriter) -> bool:
            if not writer.is_there:  # it was removed meanwhile
                return True
            stored_states = view_states(writer)
            states = self._with_new_views(stored_states)
            kinds = [view.reread_kind for view in views if view.reads]
            reread = work.counts(writer, writer.space, kinds) if kinds else {}
            # Deriving took its time. An entry that was changed or erased meanwhile is skipped: the
            # change queued it for reading.
            current = entries.digests_by_seq(writer, list(batch.entries))
            as_read = {s for s, digest in batch.digests.items() if current.get(s) == digest}
            done: dict[str, ViewState] = {}
            for view in views:
                preparing = prepare_tables(writer, view, view.name not in stored_states)
                with attribute_errors(view), preparing:
                    state = states[view.name]
                    done[view.name] = _store_of(
                        writer, view, state, batch, derived[view.name], as_read, reread
                    )
            # A view of treering's that fails has read nothing, and is not new the next time.
            own = {v.name: states[v.name] for v in self._views if not is_foreign(v)}
            save_states(writer, {**own, **stored_states, **done})
            return batch.is_last and not reread and not entries_after(writer, batch.last, 1)

        try:
            return self._space.change(store, derived=True)
        except JournalError:
            raise
        except TreeringError as error:
            if len(views) == 1:
                _note(views[0], error, run)
            else:
                for view in views:
                    self._store([view], batch, derived, run)
            return False


def _store_of(
    writer: SpaceWriter,
    view: View,
    state: ViewState,
    batch: _Batch,
    derived: Derived,
    as_read: Set[int],
    reread: Container[str],
) -> ViewState:
    """Store the rows that a view derived from a batch. Returns how far it has come then.

    ``reread`` are the kinds of entries to read again of which there are any.

    Left out are entries that another process stored, and entries erased or changed meanwhile.
    """
    queued = batch.again.get(view.name, frozenset())
    fresh = {seq for seq in as_read if seq > state.read}
    # An entry may be both: given another text before it was read at all. It is stored once.
    read_now = (queued & as_read) | fresh if view.reread_kind in reread else ()
    again = work.claim(writer, writer.id, view.reread_kind, read_now)
    ours = fresh | (again & queued)
    rows, refused = derived
    view.store(writer, {seq: row for seq, row in rows.items() if seq in ours})
    gone = queued - batch.entries.keys() - batch.damaged.keys()
    work.claim(writer, writer.id, view.reread_kind, gone)
    damaged = {s: e for s, e in batch.damaged.items() if s > state.read or s in queued}
    queue_unread(writer, view, damaged)
    queue_unread(writer, view, {s: e for s, e in refused.items() if s in ours})
    return replace(state, read=max(state.read, batch.last))


def queue_unread(writer: SpaceWriter, view: View, errors: Mapping[int, TreeringError]) -> None:
    """Queue entries that a view cannot read now, each with the reason."""
    if not view.reads:
        return
    for seq, error in errors.items():
        work.enqueue(writer, writer.id, view.reread_kind, [seq])
        work.note_failure(writer, writer.id, view.reread_kind, [seq], str(error))


@contextmanager
def collect_errors(errors: list[TreeringError]) -> Iterator[None]:
    """Collect the errors of one part of the work, so that the others get on.

    An error that stops every part, such as a full disk, is raised.
    """
    try:
        yield
    except (LLMError, EmbeddingError, MissingExtra, ViewError, JournalCorrupt) as error:
        errors.append(error)


@contextmanager
def model_calls(view: str) -> Iterator[ThreadPoolExecutor]:
    """Threads for calls of a language model. If the block ends early, no further call begins."""
    with ThreadPoolExecutor(CALLS_IN_FLIGHT, thread_name_prefix=f"treering-{view}") as pool:
        try:
            yield pool
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def entries_after(reader: Reader, seq: int, limit: int) -> list[int]:
    """Up to ``limit`` entries of a space after ``seq``, in the order they were added."""
    rows = reader.rows(
        "SELECT seq FROM entry WHERE space = ? AND seq > ? ORDER BY seq LIMIT ?",
        (reader.space, seq, limit),
    )
    return [int(row[0]) for row in rows]


def count_entries(reader: Reader, *, after: int = 0, until: int | None = None) -> int:
    """How many entries of a space come after ``after``, up to and with ``until``."""
    condition, params = ("", ()) if until is None else (" AND seq <= ?", (until,))
    row = reader.row(
        f"SELECT count(*) FROM entry WHERE space = ? AND seq > ?{condition}",
        (reader.space, after, *params),
    )
    return int(row[0]) if row else 0


def read_sound(
    reader: SpaceReader, seqs: Sequence[int]
) -> tuple[dict[int, Entry], dict[int, JournalCorrupt]]:
    """Entries by number, and the errors of those that are damaged; those gone are left out.

    ``seqs`` ascend, and so do both.
    """
    try:
        return dict(sorted(entries.by_seq(reader, seqs).items())), {}
    except JournalCorrupt:
        sound: dict[int, Entry] = {}
        damaged: dict[int, JournalCorrupt] = {}
        for seq in seqs:
            try:
                sound |= entries.by_seq(reader, [seq])
            except JournalCorrupt as error:
                damaged[seq] = error
        return sound, damaged


def _note(view: View, error: TreeringError, run: _Run) -> None:
    log.warning("view %r is delayed; settle() retries: %s", view.name, error)
    run.failures[view.name] = error
