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


def usable(cgroups: Path = CGROUPS, membership: Path = MEMBERSHIP) -> int:
    """The number of processors that this process may keep busy, at least 1.

    The least of its affinity and the quotas of its control groups (versions 1 and 2); part of a
    processor is none.
    """
    quotas = [int(quota) for quota in _quotas(cgroups, membership)]
    return max(min([_affinity(), *quotas]), 1)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quotas(cgroups: Path, membership: Path) -> Iterator[float]:
    """How many processors the quota of each group that this process is in allows."""
    for line in _text(membership).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not controllers:
            root = cgroups
        elif "cpu" in controllers.split(","):
            root = cgroups / "cpu"
        else:
            continue
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if not folder.is_relative_to(root):
                break
            yield from _quota(folder)


def _quota(folder: Path) -> Iterator[float]:
    words = _text(folder / "cpu.max").split()
    if len(words) != 2:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        words = [_text(folder / name).strip() for name in names]
    with suppress(ValueError):  # "max": there is none
        quota, period = map(int, words)
        if quota > 0 and period > 0:
            yield quota / period


def _text(path: Path) -> str:
    """The text of a small file; empty where there is none, or it may not be read."""
    try:
        return files.read_bytes(path).decode("utf-8", errors="replace")
    except OSError:
        return ""
