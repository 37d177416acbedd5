"""How many threads a model in a file gets: as many processors as it may keep busy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from treering.llm import processors


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Control groups in a folder, on a machine of which 16 processors may be used."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    return tmp_path


def usable(groups: Path) -> int:
    return processors.usable_processors(groups / "cgroup", groups / "membership")


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        (None, 16),
        ("max 100000\n", 16),
        ("a lot", 16),
        ("400000 100000", 4),
        ("250000 100000", 2),
        ("50000 100000", 1),
    ],
)
def test_a_quota_bounds_them(groups: Path, quota: str | None, expected: int) -> None:
    if quota is not None:
        write(groups / "membership", "nonsense\n0::/\n")
        write(groups / "cgroup/cpu.max", quota)
    assert usable(groups) == expected


def test_the_least_quota_of_the_groups_above_counts(groups: Path) -> None:
    write(groups / "membership", "0::/machine/job\n")
    write(groups / "cgroup/machine/cpu.max", "300000 100000")
    write(groups / "cgroup/machine/job/cpu.max", "800000 100000")
    assert usable(groups) == 3
