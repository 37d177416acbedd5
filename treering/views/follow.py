"""Letting every view of a space read its journal: in step, in batches that commit alone.

Views derive their rows outside any transaction, because an embedder may be slow. One transaction
then stores the rows of all views, together with how far each view has come. After a crash in
between one batch is repeated. If two processes read the same entries, only one stores its rows.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from treering.errors import JournalCorrupt, JournalError, TreeringError, ViewError
from treering.journal import entries, work
from treering.journal.contract import Reader
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.journal.writing import Stored
from treering.records import Entry, Progress
from treering.text import utf8_size
from treering.views.contract import (
    Derivation,
    View,
    ViewState,
    attribute_errors,
    derive_rows,
    is_foreign,
    log_refused,
    save_states,
    view_states,
)
from treering.views.foreign import prepare_tables

log = logging.getLogger("treering")

BATCH_ENTRIES = 64
"""Entries read, derived and committed together, at first and where that takes its time."""

BATCH_BYTES = 1 << 17
"""Of texts in a batch, but for one that is longer: some ten seconds of the bundled model. Who is
stopped has lost no more than that, and who waits is told how far it is."""

MOST_ENTRIES = 1024
QUICK_S = 0.2
"""A batch that was done sooner is followed by one of twice as many entries: what a transaction
costs by itself is then paid less often. One that took longer is followed by as many as are done in
that time."""

SETTLE_PATIENCE_S = 60.0
"""Who is to do all pending work waits so long for another process that does some of it."""

_READING = "read"
"""The task of letting the views read; taken for a batch, so that several processes take turns."""

MOST_HANDED = 4_096
MOST_HANDED_CHARS = 1 << 22
"""An ``add`` of more has its entries read back: that takes a fifth longer, and no memory."""


class Handover:
    """What an ``add`` stored, kept until the views have read it.

    Reading it back from the database and comparing it with its digest would take as long as storing
    it. What another process reads first, or what is too much, is let go: it is read as any other.
    """

    def __init__(self) -> None:
        self._stored: dict[int, Stored] = {}
        self._chars = 0  # of their texts

    def put(self, stored: Mapping[int, Stored]) -> None:
        """Hand entries over, by sequence number; once they are durable."""
        chars = sum(len(each.entry.text) for each in stored.values())
        if len(self._stored) + len(stored) > MOST_HANDED or self._chars + chars > MOST_HANDED_CHARS:
            self.clear()
        if len(stored) <= MOST_HANDED and chars <= MOST_HANDED_CHARS:
            self._stored.update(stored)
            self._chars += chars

    def all(self) -> dict[int, Stored]:
        """Return all that were handed over, in the order they were stored."""
        return dict(sorted(self._stored.items()))

    def take(self, seqs: Iterable[int]) -> dict[int, Stored]:
        """Return those of some entries that were handed over, in the order given."""
        stored = self._stored
        return {seq: stored[seq] for seq in seqs if seq in stored} if stored else {}

    def clear(self) -> None:
        """Let go of all: the texts of entries that are erased must not stay in main memory."""
        self._stored, self._chars = {}, 0


@dataclass(frozen=True, slots=True)
class _Batch:
    """Entries to read: new ones up to ``last``, and ``again`` those that views read once more.

    ``damaged`` are entries that cannot be read as they were stored. ``digests`` are those of all,
    and ``read`` is how far every view had read, when the batch was read. ``is_cut`` says that more
    were due, whose texts are too long together. ``is_handed`` says that the batch was not read from
    the database, so that it may not be what the views have to read next.
    """

    entries: Mapping[int, Entry]
    digests: Mapping[int, bytes]
    damaged: Mapping[int, JournalCorrupt]
    last: int
    again: Mapping[str, frozenset[int]]
    read: Mapping[str, int]
    is_cut: bool = False
    is_handed: bool = False

    def entries_for(self, view: View) -> dict[int, Entry]:
        """The entries of the batch that one view has not read."""
        read = self.read.get(view.name, 0)
        again = self.again.get(view.name, frozenset())
        return {seq: entry for seq, entry in self.entries.items() if seq > read or seq in again}


@dataclass(slots=True)
class _Run:
    """One call of ``follow``: the size of its next batch, the views that failed in it, and the
    entries it met that are damaged, or that a view ``refused``: could not read."""

    retry: bool
    size: int
    failures: dict[str, TreeringError] = field(default_factory=dict)
    damaged: dict[int, JournalCorrupt] = field(default_factory=dict)
    refused: dict[str, dict[int, ViewError]] = field(default_factory=lambda: defaultdict(dict))

    def unreadable(self, view: View) -> Set[int]:
        """The entries that a view cannot read."""
        return self.damaged.keys() | self.refused[view.name].keys()


class Follower:
    """Lets the views of one space follow its journal. One thread at a time."""

    def __init__(self, space: Space, views: Sequence[View], handover: Handover) -> None:
        self._space = space
        self._views = views
        self._handover = handover
        self._size = BATCH_ENTRIES
        """Of the next batch: what was quick the last time need not be tried out again."""
        self._seen = set[str]()
        """The names of views whose rows were stored here: what tables they make was looked at."""
        self._is_in_step = False
        """Whether all views had read everything when they were last asked to."""

    def follow(
        self,
        progress: Progress | None = None,
        *,
        retry: bool = False,
        patience_s: float = SETTLE_PATIENCE_S,
        leave: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Let every view read the entries that it has not read; True if no work is left for sure.

        A view that fails does not hold up the others, and goes on from there the next time. Its
        error is raised once they are done: as ViewError, if it comes from another package. An entry
        that is damaged, or that one of treering's own views fails on, is passed over and stays
        queued. ``retry`` reads such entries again, and raises JournalCorrupt or ViewError for the
        first that still cannot be read. What another process reads is waited for, ``patience_s``
        seconds altogether, and left to it then. No further batch is begun once ``leave`` says
        so.
        """
        run = _Run(retry, self._size)
        is_done = None
        try:
            if self._is_in_step and not retry and progress is None:
                is_done = self._take_in_handed(run)
            if is_done is None:
                self._is_in_step = False
                self._run(run, progress, patience_s, leave)
        finally:
            self._size = run.size
            self._handover.clear()
        for error in run.failures.values():
            raise error
        if retry:
            for corrupt in run.damaged.values():
                raise corrupt
            for refused in run.refused.values():
                for refusal in refused.values():
                    raise refusal
        return bool(is_done)

    def _run(
        self, run: _Run, progress: Progress | None, patience_s: float, leave: Callable[[], bool]
    ) -> None:
        """Read batch after batch, as ``follow`` says."""
        done = 0
        total = self._behind() if progress else 0
        until = time.monotonic() + patience_s
        while not leave():
            with self._space.task(_READING) as is_ours:
                batch = self._next(run)
                if batch is None:
                    self._is_in_step = not run.failures
                    break
                if is_ours:
                    self._take_in(batch, run)
                    done += len(batch.entries)
                    if progress:
                        progress(min(done, total), total)
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

    def _take_in_handed(self, run: _Run) -> bool | None:
        """Let the views read what was just added here, without reading it from the database.

        Return whether no work is left then. None if the views may have more to read.
        """
        handed = self._handover.all()
        size = sum(utf8_size(stored.entry.text) for stored in handed.values())
        if not handed or len(handed) > run.size or size > BATCH_BYTES:
            return None
        with self._space.task(_READING) as is_ours:
            if not is_ours:
                return None
            seqs = list(handed)
            batch = _Batch(
                entries={seq: stored.entry for seq, stored in handed.items()},
                digests={seq: stored.digest for seq, stored in handed.items()},
                damaged={},
                last=seqs[-1],
                again={},
                read={},
                is_handed=True,
            )
            return self._take_in(batch, run)

    def _take_in(self, batch: _Batch, run: _Run) -> bool | None:
        """Let the views read a batch; see ``_store`` for the result."""
        began = time.monotonic()
        derived = self._derive(batch, run)
        views = [view for view in self._views if view.name in derived]
        is_done = self._store(views, batch, derived, run)
        most = len(batch.entries) if batch.is_cut else run.size
        run.size = size_after(len(batch.entries), most, time.monotonic() - began)
        return is_done

    def _behind(self) -> int:
        with self._space.read() as reader:
            return max(self.unread(reader).values(), default=0)

    def _next(self, run: _Run) -> _Batch | None:
        """The next entries to read. Views that have failed are not considered."""
        views = [view for view in self._views if view.reads and view.name not in run.failures]
        with self._space.read() as reader:
            if not reader.id or not views:
                return None
            stored_states = view_states(reader)
            states = self._with_new_views(stored_states)
            read = min(states[view.name].read for view in views)
            fresh = entries_after(reader, read, run.size)
            again = self._queued_entries(reader, views, run)
            queued = frozenset().union(*again.values())
            due = sorted(queued.union(fresh))
            # What is queued may have been changed since it was handed over: it is read.
            handed = self._handover.take(seq for seq in fresh if seq not in queued)
            sizes = {seq: utf8_size(stored.entry.text) for seq, stored in handed.items()}
            seqs = entries.within(reader, due, BATCH_BYTES, sizes)
            fresh = [seq for seq in fresh if seq <= seqs[-1]] if seqs else []
            again = {name: of_view.intersection(seqs) for name, of_view in again.items()}
            read_back, damaged = read_sound(reader, [seq for seq in seqs if seq not in handed])
            digests = entries.digests_by_seq(reader, list(read_back)) if read_back else {}
        known = read_back | {seq: stored.entry for seq, stored in handed.items()}
        sound = {seq: known[seq] for seq in seqs if seq in known}
        digests |= {seq: handed[seq].digest for seq in sound if seq in handed}
        run.damaged |= damaged
        last = fresh[-1] if fresh else read
        # A view that is new to the space is noted, though there may be nothing to read for it now.
        is_new = any(view.name not in stored_states for view in views)
        if not seqs and not is_new:
            return None
        places_read = {name: state.read for name, state in states.items()}
        return _Batch(sound, digests, damaged, last, again, places_read, len(seqs) < len(due))

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
                limit = run.size + len(unreadable)
                untried = not run.retry
                seqs = work.targets(reader, reader.id, view.reread_kind, limit, untried=untried)
                queued[view.name] = frozenset(seqs) - unreadable
        return queued

    def _states(self, reader: SpaceReader) -> dict[str, ViewState]:
        """Where every view stands, also those of which nothing is stored."""
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

    def _derive(self, batch: _Batch, run: _Run) -> dict[str, Derivation]:
        """What every view derives from its part of a batch, by the view's name."""
        derived: dict[str, Derivation] = {}
        for view in self._views:
            if view.name in run.failures:
                continue
            try:
                derived[view.name] = derive_rows(view, view.derive, batch.entries_for(view))
                run.refused[view.name].update(derived[view.name].refused)
                if not run.retry:  # who retries is told by the error
                    log_refused(derived[view.name])
            except JournalError:
                raise
            except TreeringError as error:
                _note(view, error, run)
        return derived

    def _store(
        self,
        views: Sequence[View],
        batch: _Batch,
        derived: Mapping[str, Derivation],
        run: _Run,
    ) -> bool | None:
        """Store for all views in one transaction; if a view fails, in one transaction per view.

        Return whether the views have read everything then and nothing is queued. None if more may
        be left to read; of what was handed over nothing was stored then.
        """

        def store(writer: SpaceWriter) -> bool | None:
            if not writer.is_there:  # it was removed meanwhile
                return None
            stored_states = view_states(writer)
            states = self._with_new_views(stored_states)
            unread = self._unread_of(writer, batch, stored_states) if batch.is_handed else []
            if batch.is_handed and unread[: len(batch.entries)] != list(batch.entries):
                return None  # others come before it
            kinds = [view.reread_kind for view in self._views if view.reads]
            reread_kind = work.counts(writer, writer.space, kinds)
            # Deriving took its time. An entry that was changed or erased meanwhile is left to
            # whoever changed it: that queued it for reading, or deleted it.
            current = entries.digests_by_seq(writer, list(batch.entries))
            as_read = {s for s, digest in batch.digests.items() if current.get(s) == digest}
            done: dict[str, ViewState] = {}
            for view in views:
                is_new = view.name not in stored_states
                is_seen = view.name in self._seen and not is_new
                preparing = nullcontext() if is_seen else prepare_tables(writer, view, is_new)
                with attribute_errors(view), preparing:
                    state = states[view.name]
                    is_queued = view.reread_kind in reread_kind
                    done[view.name] = _store_of(
                        writer, view, state, batch, derived[view.name], as_read, is_queued
                    )
            # A view of treering's that fails has read nothing, and is not new the next time.
            own = {v.name: states[v.name] for v in self._views if not is_foreign(v)}
            save_states(writer, {**own, **stored_states, **done})
            is_refused = any(derivation.refused for derivation in derived.values())
            if reread_kind or is_refused or len(unread) != len(batch.entries):
                return None
            return self._has_embedded_all(writer)

        try:
            is_done = self._space.change(store, derived=True)
            self._seen.update(view.name for view in views)
        except JournalError:
            raise
        except TreeringError as error:
            if len(views) == 1:
                _note(views[0], error, run)
            elif not batch.is_handed:  # else it is read, and then stored view by view
                for view in views:
                    self._store([view], batch, derived, run)
            return None
        return is_done if len(views) == len(self._views) else None

    def _unread_of(
        self, reader: SpaceReader, batch: _Batch, states: Mapping[str, ViewState]
    ) -> list[int]:
        """The next entries that the views have to read, as many as a batch has and one more."""
        if any(view.name not in states for view in self._views):
            return []
        read = min(states[view.name].read for view in self._views)
        return entries_after(reader, read, len(batch.entries) + 1)

    def _has_embedded_all(self, reader: SpaceReader) -> bool:
        """Whether nothing is queued to be embedded."""
        kinds = [model.work for model in reader.state.models]
        return reader.model is not None and not work.is_queued(reader, reader.id, kinds)


def size_after(done: int, most: int, seconds: float) -> int:
    """How many entries the next batch may have, after one in which so many were done.

    It might have had ``most``. To begin with few again after a slow batch would part what is added
    next into many batches, each of which has a transaction.
    """
    size = 2 * most if seconds < QUICK_S else int(done * QUICK_S / seconds)
    return max(BATCH_ENTRIES, min(size, MOST_ENTRIES))


def _store_of(
    writer: SpaceWriter,
    view: View,
    state: ViewState,
    batch: _Batch,
    derived: Derivation,
    as_read: Set[int],
    is_queued: bool,
) -> ViewState:
    """Store the rows that a view derived from a batch. Returns how far it has come then.

    ``is_queued`` says whether the view has entries to read again.

    Left out are entries that another process stored, and entries erased or changed meanwhile.
    """
    queued = batch.again.get(view.name, frozenset())
    fresh = {seq for seq in as_read if seq > state.read}
    # An entry may be both: given another text before it was read at all. It is stored once.
    read_now = (queued & as_read) | fresh if is_queued and view.reads else ()
    again = work.claim(writer, writer.id, view.reread_kind, read_now)
    ours = fresh | (again & queued)
    view.store(writer, {seq: rows for seq, rows in derived.rows.items() if seq in ours})
    gone = queued - batch.entries.keys() - batch.damaged.keys()
    work.claim(writer, writer.id, view.reread_kind, gone)
    damaged = {s: e for s, e in batch.damaged.items() if s > state.read or s in queued}
    queue_unread(writer, view, damaged)
    queue_unread(writer, view, {s: e for s, e in derived.refused.items() if s in ours})
    read = max(state.read, batch.last)
    return replace(state, read=read)


def queue_unread(writer: SpaceWriter, view: View, errors: Mapping[int, TreeringError]) -> None:
    """Have a view read entries once more that it cannot read now, and note why it could not."""
    if not view.reads:
        return
    for seq, error in errors.items():
        work.enqueue(writer, writer.id, view.reread_kind, [seq])
        work.note_failure(writer, writer.id, view.reread_kind, [seq], str(error))


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
