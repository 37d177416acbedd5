"""A process that does everything is killed anywhere: what it acknowledged holds."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.embedders import HashingEmbedder
from tests.faults.conftest import Note
from tests.faults.processes import ROOT
from tests.programs import Program
from treering import Memory

START_S = 60


def killed(path: Path, seed: int, after: int, delay_s: float, folder: Path) -> list[list[str]]:
    """The lines of a worker that is killed some time after it has printed a number of them."""
    command = [sys.executable, "-m", "tests.faults.worker", str(path), str(seed), str(folder)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with Program(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        late = threading.Timer(START_S, process.kill)
        late.start()
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.split())
            if len(lines) == after:
                threading.Timer(delay_s, process.kill).start()
        late.cancel()
        assert process.stderr is not None
        assert "Traceback" not in (said := process.stderr.read()), said
    return [line for line in lines if len(line) == 2]


class Ledger:
    """What must be there, what must not, and what nobody was told about."""

    def __init__(self) -> None:
        self.there: set[str] = set()
        self.gone: set[str] = set()

    def read(self, lines: list[list[str]]) -> int:
        for mark, token in lines:
            if mark == "?":
                self.there.discard(token)
                self.gone.discard(token)
            elif mark == "+":
                self.there.add(token)
            elif mark == "-":
                self.gone.add(token)
        return sum(mark in "+-" for mark, _ in lines)


def assert_holds(path: Path, ledger: Ledger) -> None:
    with Memory.open(path, embedder=HashingEmbedder(), llm="none") as memory:
        assert memory.check() == []
        texts = "\n".join(entry.text for entry in memory.entries())
        assert [token for token in ledger.there if token not in texts] == []
        assert [token for token in ledger.gone if token in texts] == []
        memory.settle()
        assert memory.check() == []
    stored = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    assert [token for token in ledger.gone if token.encode() in stored] == []


@pytest.mark.timeout(1_200)
def test_a_process_killed_in_anything_it_does_keeps_what_it_acknowledged(
    tmp_path: Path, rng: random.Random, rounds: Callable[[int], int], note: Note
) -> None:
    path, ledger, acknowledged, count = tmp_path / "life.db", Ledger(), 0, rounds(4)
    for number in range(count):
        if number % 8 == 0:  # a new file, so that its making is killed, too
            (tmp_path / f"{number}").mkdir()
            path, ledger = tmp_path / f"{number}" / "life.db", Ledger()
        after, delay = rng.choice((1, rng.randrange(1, 60))), rng.uniform(0, 0.2)
        lines = killed(path, rng.getrandbits(32), after, delay, path.parent)
        acknowledged += ledger.read(lines)
        assert_holds(path, ledger)
    note("kill -9 in any operation", rounds=count, acknowledged=acknowledged, lost=0)
