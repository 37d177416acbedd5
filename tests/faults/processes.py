"""Other processes that work on a memory, as short scripts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests import programs
from tests.embedders import HashingEmbedder
from treering import Memory

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 30

_COME_AND_GO = """
import sys
from pathlib import Path
from treering.journal.sqlite.database import SqliteDatabase
SqliteDatabase(Path(sys.argv[1])).close()
"""
_TEXTS = """
import sys
from tests.embedders import HashingEmbedder
from treering import Memory
with Memory.open(sys.argv[1], embedder=HashingEmbedder(), llm="none") as memory:
    assert memory.check() == []
    for entry in memory.entries():
        print(entry.text)
"""


def run_script(script: str, *arguments: object) -> str:
    """What a script prints; an error in it is one of the test."""
    done = programs.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def come_and_go(path: Path) -> None:
    """Open and close a memory in another process, which removes the log if it is the last user."""
    run_script(_COME_AND_GO, path)


def texts_in(path: Path) -> list[str]:
    """The texts of a memory that other processes wrote, as this one finds them, and finds sound."""
    with Memory.open(path, embedder=HashingEmbedder(), llm="none") as memory:
        assert memory.check() == []
        return [entry.text for entry in memory.entries()]


def texts_seen_by_another(path: Path) -> list[str]:
    """The texts of a memory that another process finds, which also finds it sound."""
    return run_script(_TEXTS, path).splitlines()
