"""How many threads may compute here: processors that this process may use, and may keep busy.

llama.cpp's threads wait for each other in busy loops. With more of them than the system lets run at
a time, as in a container with a quota, a reply takes several times as long.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from treering import files

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def usable_processors(cgroups: Path = CGROUPS, membership: Path = MEMBERSHIP) -> int:
    """The number of processors that this process may keep busy, at least 1.

    The least of its affinity and the quotas of its control groups (version 2), rounded down.
    """
    if hasattr(os, "sched_getaffinity"):
        affinity = len(os.sched_getaffinity(0))
    else:
        affinity = os.cpu_count() or 1
    return max(min([affinity, *map(int, _quotas(cgroups, membership))]), 1)


def _quotas(cgroups: Path, membership: Path) -> Iterator[float]:
    """How many processors the quota of each group that this process is in allows."""
    for line in _text(membership).splitlines():
        if not line.startswith("0::"):
            continue
        group = cgroups / line.removeprefix("0::").lstrip("/")
        for folder in (group, *group.parents):
            if not folder.is_relative_to(cgroups):
                break
            with suppress(ValueError):  # "max": unlimited
                quota, period = map(int, _text(folder / "cpu.max").split())
                yield quota / period


def _text(path: Path) -> str:
    """The text of a small file; empty if it is missing or may not be read."""
    try:
        return files.read_bytes(path).decode("utf-8", errors="replace")
    except OSError:
        return ""
