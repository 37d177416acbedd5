"""The queues in which threads of a process wait for a file, instead of polling it."""

from __future__ import annotations

import threading
from weakref import WeakValueDictionary

from treering import forks
from treering.journal import opened, scrub
from treering.journal.together import SharedWrites


class Queues:
    """What all databases of one file share in a process: threads queue here, and do not poll it."""

    def __init__(self) -> None:
        self.scrubs = scrub.ScrubQueue()
        self.together = SharedWrites()
        self.erasures = SharedWrites()  # who only writes does not wait for their scrubbing
        self._begin()
        forks.renew_in_child(self, Queues._begin)

    def _begin(self) -> None:
        self.writing = threading.RLock()


_queues: WeakValueDictionary[opened.Inode, Queues] = WeakValueDictionary()
_finding = threading.Lock()  # protects _queues


def queues_of(inode: opened.Inode) -> Queues:
    """Those of a file."""
    with _finding:
        queues = _queues.get(inode)
        if queues is None:
            queues = _queues[inode] = Queues()
        return queues
