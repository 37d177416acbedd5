"""Workers cut entries into pieces and embed them, ahead of the view that stores the pieces.

The view asks for the pieces of some entries, stores them, and asks for the next. Meanwhile workers
have the entries after those: enough to keep them busy.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, Protocol, Self

from treering.arrays import Floats
from treering.embed.contract import Embedder, unit_vectors
from treering.embed.minilm import MiniLM
from treering.embed.registry import GROUP, open_embedder
from treering.errors import EmbeddingError, InputError, MissingExtra
from treering.journal.space import Space
from treering.plugins import plugins
from treering.records import Entry
from treering.split import FragmentSize
from treering.views.contract import BATCH_ENTRIES
from treering.views.follow import entries_after, read_sound
from treering.views.fragments.cut import PartwiseEmbedder, Piece, cut

TASK_ENTRIES: Final = 64
TASK_CHARS: Final = 1 << 16
"""A task takes a fraction of a second: only that is repeated if its worker is killed."""

MAX_LOST: Final = 3
"""A task is given up after so many workers ended over it."""

END_S: Final = 2.0
"""Tasks that have begun take a fraction of it, unless an endpoint hangs."""


@dataclass(frozen=True, slots=True)
class WorkerTask:
    """Entries by sequence number, and how long their pieces may be."""

    entries: Mapping[int, Entry]
    size: FragmentSize


@dataclass(frozen=True, slots=True)
class Derived:
    """The pieces of a task's entries, and the processor time for them.

    If the embedder failed, ``error`` says why, and no piece has a vector.
    """

    pieces: Mapping[int, list[Piece]]
    seconds: float
    error: str | None = None


class WorkerPool(Protocol):
    """A number of workers. A task that is lost with a worker is done by another one."""

    @property
    def size(self) -> int:
        """How many workers there are."""
        ...

    def submit(self, task: WorkerTask) -> Any:
        """Hand a task to a worker; the result is for ``collect``."""
        ...

    def collect(self, pending: Any) -> Derived:
        """Wait for a task. Raise WorkersLost, and InputError if no worker can open the model."""
        ...


class Worker:
    """Does tasks, in any number of threads. The model is loaded once, with the first."""

    def __init__(self, embedder: str | Embedder) -> None:
        self._spec = embedder
        self._embedder: Embedder | None = None

    def derive(self, task: WorkerTask) -> Derived:
        """Return the pieces of a task's entries. Raise UnknownName for a missing model."""
        began = time.thread_time()
        errors: list[str] = []

        def vectors_of(texts: list[str]) -> Floats | None:
            try:
                model = self._open()
                whole = task.size.fits_models
                return unit_vectors(model if whole else PartwiseEmbedder(model), texts)
            except (EmbeddingError, MissingExtra) as error:
                errors.append(str(error))
                return None

        pieces = cut(task.entries, task.size, vectors_of)
        return Derived(pieces, time.thread_time() - began, errors[0] if errors else None)

    def _open(self) -> Embedder:
        if self._embedder is None:
            name = self._spec if isinstance(self._spec, str) else self._spec.name
            # A thread for each processor: more would take them from each other.
            is_bundled = name == MiniLM.name
            self._embedder = MiniLM(threads=1) if is_bundled else open_embedder(self._spec)
        return self._embedder


class WorkerThreads:
    """A ``WorkerPool`` of threads: a model computes without Python's lock.

    A context manager: at its end it waits a little for tasks that have begun. One that hangs ends
    with the process.
    """

    def __init__(self, embedder: Embedder, size: int) -> None:
        self.size = size
        self._worker = Worker(embedder)
        self._due: SimpleQueue[tuple[Future[Derived], WorkerTask] | None] = SimpleQueue()
        self._is_over = False
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(size)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over = True
        for _ in self._threads:
            self._due.put(None)
        end = time.monotonic() + END_S
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def submit(self, task: WorkerTask) -> Future[Derived]:
        """See ``WorkerPool``."""
        pending: Future[Derived] = Future()
        self._due.put((pending, task))
        return pending

    def _work(self) -> None:
        while (due := self._due.get()) is not None and not self._is_over:
            pending, task = due
            try:
                pending.set_result(self._worker.derive(task))
            except BaseException as error:  # the caller of ``collect`` gets it
                pending.set_exception(error)

    def collect(self, pending: Future[Derived]) -> Derived:
        """See ``WorkerPool``."""
        return pending.result()


def tasks_for(entries: Mapping[int, Entry], size: FragmentSize) -> Iterator[WorkerTask]:
    """Split entries into tasks that are each done soon."""
    due: dict[int, Entry] = {}
    chars = 0
    for seq, entry in entries.items():
        due[seq] = entry
        chars += len(entry.text)
        if len(due) >= TASK_ENTRIES or chars >= TASK_CHARS:
            yield WorkerTask(due, size)
            due, chars = {}, 0
    if due:
        yield WorkerTask(due, size)


def portable(embedder: Embedder) -> str | Embedder:
    """Return a specification or a copy by which another process opens the same model.

    Raise InputError for a model that has neither.
    """
    kind = embedder.name.partition(":")[0]
    if type(embedder).__module__.startswith("treering.") or kind in plugins(GROUP).names:
        return embedder.name
    try:
        pickle.loads(pickle.dumps(embedder))
    except Exception as error:  # any error of the model's own methods
        raise InputError(
            f"the embedder {embedder.name!r} cannot be sent to other processes ({error}); give one "
            "by its specification, such as minilm, or make it an entry point of " + GROUP
        ) from error
    return embedder


TASKS_A_WORKER: Final = 4
"""Tasks under way for each worker: enough that none waits while one is stored or is long."""

MAX_FAILED: Final = 3
"""The embedder counts as down after so many failed tasks in a row."""


@dataclass(slots=True)
class _Handed:
    """A task of a worker, and its result once the view has asked for it."""

    task: WorkerTask
    pending: Any
    derived: Derived | None = None


class ReadAhead:
    """A ``Deriver`` whose pieces come from workers. For one thread.

    ``count`` is called with each task that is done.
    """

    def __init__(
        self, space: Space, pool: WorkerPool, count: Callable[[WorkerTask, Derived], None]
    ) -> None:
        self._space = space
        self._pool = pool
        self._count = count
        self._handed: dict[int, _Handed] = {}
        self._last = 0
        self._failed = 0

    def __call__(self, entries: Mapping[int, Entry], size: FragmentSize) -> dict[int, list[Piece]]:
        """Return the pieces of entries. Raise EmbeddingError, WorkersLost, InputError."""
        if not entries:
            return {}
        self._hand({s: e for s, e in entries.items() if not self._is_handed(s, e, size)}, size)
        last = max(entries)
        derived: dict[int, list[Piece]] = {}
        for seq in entries:
            handed = self._handed[seq]
            if handed.derived is None:
                # First, so that no worker waits while this process waits or stores.
                self._read_on(last, size)
            pieces = self._result(handed).pieces
            if seq in pieces:  # but for treering's own entries
                derived[seq] = pieces[seq]
        self._read_on(last, size)
        # Earlier entries that the view did not ask for are gone from the journal.
        for seq in [seq for seq in self._handed if seq <= last]:
            del self._handed[seq]
        return derived

    def _is_handed(self, seq: int, entry: Entry, size: FragmentSize) -> bool:
        """Return whether a worker has an entry, as it is now."""
        handed = self._handed.get(seq)
        return handed is not None and handed.task.size == size and handed.task.entries[seq] == entry

    def _hand(self, entries: Mapping[int, Entry], size: FragmentSize) -> None:
        for task in tasks_for(entries, size):
            handed = _Handed(task, self._pool.submit(task))
            self._handed |= dict.fromkeys(task.entries, handed)

    def _read_on(self, last: int, size: FragmentSize) -> None:
        """Hand over the entries that come next, until all workers have enough."""
        self._last = max(self._last, last)
        while self._under_way() < TASKS_A_WORKER * self._pool.size:
            with self._space.read() as reader:
                seqs = entries_after(reader, self._last, BATCH_ENTRIES)
                sound, _ = read_sound(reader, seqs)
            if not seqs:
                return
            self._last = seqs[-1]
            self._hand(sound, size)

    def _under_way(self) -> int:
        """Count the tasks of workers that the view has not asked for."""
        return len({id(handed) for handed in self._handed.values() if handed.derived is None})

    def _result(self, handed: _Handed) -> Derived:
        """Return the result of a task. Raise EmbeddingError if many in a row failed."""
        if handed.derived is None:
            handed.derived = derived = self._pool.collect(handed.pending)
            self._count(handed.task, derived)
            self._failed = 0 if derived.error is None else self._failed + 1
            if self._failed >= MAX_FAILED:
                self._failed = 0
                raise EmbeddingError(str(derived.error))
        return handed.derived
