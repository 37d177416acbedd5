"""Where the threads of a process wait to write, before they take a connection.

A thread that waits for another one's transaction with a connection in its hand would keep that from
searches. So the writers of one space stand in a queue, and some connections are left to readers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from treering.journal.together import SharedWrites


@dataclass(slots=True)
class _Queue:
    """The turn of a space's writers, and what they do in one transaction; there as long as somebody
    waits for it."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    together: SharedWrites | None = None
    waiting: int = 0


class WriterQueues:
    """A queue for each space, and one for what concerns the whole database."""

    def __init__(self, connections: int) -> None:
        self._room = threading.BoundedSemaphore(max(connections // 2, 1))
        self._lock = threading.Lock()  # protects the queues
        self._queues: dict[str | None, _Queue] = {}

    @contextmanager
    def turn(self, space: str | None) -> Iterator[None]:
        """The time in which one thread of this process writes to a space."""
        with self._queue(space) as queue, queue.turn, self._room:
            yield

    @contextmanager
    def together(self, space: str | None) -> Iterator[SharedWrites]:
        """What threads of this process write to a space in one transaction."""
        with self._queue(space) as queue:
            with self._lock:
                together = queue.together = queue.together or SharedWrites()
            yield together

    @contextmanager
    def _queue(self, space: str | None) -> Iterator[_Queue]:
        with self._lock:
            queue = self._queues.setdefault(space, _Queue())
            queue.waiting += 1
        try:
            yield queue
        finally:
            with self._lock:
                queue.waiting -= 1
                if not queue.waiting:
                    del self._queues[space]
