"""Python's cycle collector, paused while an index is read or updated."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Collect no cycles for a while.

    An index is a hundred thousand small values without a cycle. The collector goes through all of
    them again and again as they come, which takes as long as making them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
