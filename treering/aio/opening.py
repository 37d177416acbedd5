"""What is opened in a worker thread is closed if nobody waits for it any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """What must be closed by whoever opened it."""

    def close(self) -> None:
        """Close it; a second call does nothing."""
        ...


C = TypeVar("C", bound=Closable)


async def opened(work: Callable[[], C]) -> C:
    """What ``work`` opens. A call that is cancelled cannot close it, so that is done for it."""
    handover = _Handover[C]()
    try:
        return await asyncio.to_thread(handover.give, work)
    except asyncio.CancelledError:
        if (given := handover.decline()) is not None:
            asyncio.get_running_loop().run_in_executor(None, given.close)
        raise


class _Handover(Generic[C]):
    """Between the thread that opens something and the task that waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_declined = False
        self._given: C | None = None

    def give(self, work: Callable[[], C]) -> C:
        """Open it, and close it again if nobody waits."""
        opened = work()
        with self._lock:
            is_declined, self._given = self._is_declined, opened
        if is_declined:
            opened.close()
        return opened

    def decline(self) -> C | None:
        """Wait no more; what was opened by then is returned, to be closed."""
        with self._lock:
            self._is_declined = True
            return self._given
