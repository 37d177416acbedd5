"""A rebuild in a process that is killed: what is there answers, and the next one goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.programs import Program
from tests.views.pictures import picture

ROOT = Path(__file__).parents[2]
ENTRIES = 400


@pytest.mark.parametrize("batches", [1, 3])
def test_a_rebuild_that_is_killed_is_gone_on_with(
    open_memory: Open, path: Path, batches: int
) -> None:
    memory = open_memory()
    memory.add([{"role": "user", "content": f"Ana said number {n}."} for n in range(ENTRIES)])
    before = picture(memory, "fragments")
    memory.close()
    command = [sys.executable, "-m", "tests.views.rebuilding", str(path)]
    with Program(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(batches)]
        process.kill()
    assert len(lines) == batches
    again = open_memory()
    assert again.search("Ana said number 7.", mode="lexical", k=1)
    done: list[int] = []
    if again.stats().outdated:  # else it was done by the time it was killed
        again.rebuild("fragments", progress=lambda count, _: done.append(count))
        assert done[0] > int(lines[-1].split()[0])
    assert picture(again, "fragments") == before
    assert again.stats().outdated == ()
    assert again.check() == []
