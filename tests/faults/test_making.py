"""Several processes make one file at once, and each of them has it."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

from treering.journal.sqlite.database import SqliteDatabase

PROCESSES, FILES, TIMEOUT_S = 3, 60, 60.0


def make(folder: Path, together: Barrier) -> None:
    for number in range(FILES):
        together.wait(TIMEOUT_S)
        SqliteDatabase(folder / f"{number}.db").close()


def test_processes_that_make_a_file_at_once_all_open_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(PROCESSES)
    processes = [context.Process(target=make, args=(tmp_path, together)) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(TIMEOUT_S)
    assert [process.exitcode for process in processes] == [0] * PROCESSES
