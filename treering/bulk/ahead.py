"""Reading the journal ahead of the views, so that workers always have something to do.

The follower asks for the pieces of some entries, stores them, and asks for the next. What workers
make of the entries after those is under way meanwhile, as much as keeps them busy and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from treering.bulk.worker import Derived, WorkerPool, WorkerTask, tasks_of
from treering.errors import EmbeddingError
from treering.journal.space import Space
from treering.records import Entry
from treering.split import FragmentSize
from treering.views import progress
from treering.views.follow import BATCH_ENTRIES, read_sound
from treering.views.fragments.cut import Piece

TASKS_A_WORKER: Final = 4
"""Under way for each: while one is stored, and one is unusually long, none waits."""

MAX_FAILED: Final = 3
"""After so many tasks in a row that the embedder failed it counts as down, and is not asked."""


@dataclass(slots=True)
class WorkDone:
    """What workers did: entries, the pieces of them, their characters, and processor time."""

    entries: int = 0
    texts: int = 0
    chars: int = 0
    seconds: float = 0.0

    def add(self, task: WorkerTask, derived: Derived) -> None:
        """Count one more task."""
        self.entries += len(task.entries)
        self.texts += sum(map(len, derived.pieces.values()))
        self.chars += sum(len(entry.text) for entry in task.entries.values())
        self.seconds += derived.seconds


@dataclass(slots=True)
class _Handed:
    """A task that a worker has, and what came of it once that was asked for."""

    task: WorkerTask
    pending: Any
    derived: Derived | None = None


class ReadAhead:
    """A ``Deriver`` that has workers cut and embed. For one thread.

    ``done`` is what they did; ``moved`` is called as they go on.
    """

    def __init__(self, space: Space, pool: WorkerPool, moved: Callable[[WorkDone], None]) -> None:
        self.done = WorkDone()
        self._space = space
        self._pool = pool
        self._moved = moved
        self._handed: dict[int, _Handed] = {}
        self._last = 0
        self._failed = 0

    def __call__(self, entries: Mapping[int, Entry], size: FragmentSize) -> dict[int, list[Piece]]:
        """The pieces of entries. Raises EmbeddingError, WorkersLost, InputError."""
        if not entries:
            return {}
        due = {
            seq: entry for seq, entry in entries.items() if not self._is_handed(seq, entry, size)
        }
        self._hand(due, size)
        last = max(entries)
        derived: dict[int, list[Piece]] = {}
        for seq in entries:
            handed = self._handed[seq]
            if handed.derived is None:
                # First, so that no worker waits while this process does, or stores what comes.
                self._read_on(last, size)
            pieces = self._derived(handed).pieces
            if seq in pieces:  # what treering itself wrote has none
                derived[seq] = pieces[seq]
        self._read_on(last, size)
        # Those before the last that were not asked for are gone from the journal.
        for seq in [seq for seq in self._handed if seq <= last]:
            del self._handed[seq]
        return derived

    def _is_handed(self, seq: int, entry: Entry, size: FragmentSize) -> bool:
        """Whether a worker has an entry, as it is now."""
        handed = self._handed.get(seq)
        return handed is not None and handed.task.size == size and handed.task.entries[seq] == entry

    def _hand(self, entries: Mapping[int, Entry], size: FragmentSize) -> None:
        for task in tasks_of(entries, size):
            handed = _Handed(task, self._pool.submit(task))
            self._handed |= dict.fromkeys(task.entries, handed)

    def _read_on(self, last: int, size: FragmentSize) -> None:
        """Hand on what the follower will ask for next, until all workers have enough."""
        self._last = max(self._last, last)
        while self._under_way() < TASKS_A_WORKER * self._pool.size:
            with self._space.read() as reader:
                seqs = progress.after(reader, reader.id, self._last, BATCH_ENTRIES)
                sound, _ = read_sound(reader, seqs)
            if not seqs:
                return
            self._last = seqs[-1]
            self._hand(sound, size)

    def _under_way(self) -> int:
        """How many tasks workers have that were not asked for yet."""
        return len({id(handed) for handed in self._handed.values() if handed.derived is None})

    def _derived(self, handed: _Handed) -> Derived:
        """What came of a task. Raises EmbeddingError if that of many in a row was nothing."""
        if handed.derived is None:
            handed.derived = derived = self._pool.collect(handed.pending)
            self.done.add(handed.task, derived)
            self._failed = 0 if derived.error is None else self._failed + 1
            self._moved(self.done)
            if self._failed >= MAX_FAILED:
                self._failed = 0
                raise EmbeddingError(str(derived.error))
        return handed.derived
