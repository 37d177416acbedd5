"""Entry points of other packages that extend treering."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.metadata import EntryPoints, distributions, entry_points


def plugins(group: str) -> EntryPoints:
    """The entry points of a group. An installed package is seen once ``sys.path`` is another."""
    return _plugins(group, tuple(sys.path))


@lru_cache(maxsize=16)
def _plugins(group: str, _path: tuple[str, ...]) -> EntryPoints:
    """The entry points of a group, for a ``sys.path``.

    A file of each installed package is read for them, which takes longer than all the rest of
    opening a memory: once is enough, as long as the path is the same. To take all of these apart
    takes three times as long as to see that none has the group, which is so mostly.
    """
    section = f"[{group}]"
    files = (package.read_text("entry_points.txt") for package in distributions())
    if not any(section in (text or "") for text in files):
        return EntryPoints(())
    return entry_points(group=group)
