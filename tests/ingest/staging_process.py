"""A process that is gone in the middle of an import: ``python -m tests.ingest.staging_process``.

Arguments: the file, the space, and the write transaction with which the process ends, uncommitted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.embedders import HashingEmbedder
from treering.ingest import exchange
from treering.ingest.slices import SLICE_ENTRIES, SLICES_AT_ONCE
from treering.journal.contract import Writer
from treering.journal.sqlite import SqliteDatabase
from treering.memory import Memory

SLICES = SLICES_AT_ONCE + 1
COUNT = (SLICES - 1) * SLICE_ENTRIES + 1
WRITES = 1 + SLICES + 1 + SLICES + 1
"""Transactions of an import: its beginning, staging each slice, whole, taking in each, the end."""


def text_of(number: int) -> str:
    """The text of a line, which no other line has."""
    return f"Sentence {number:06} of the import, which nobody else says."


def lines(count: int = COUNT) -> Iterator[str]:
    """An export of one source."""
    yield exchange.header({})
    for number in range(count):
        yield (
            f'{{"id": "{number:016x}", "source": "talk", "position": {number}, "kind": "chat",'
            f' "speaker": "Ana", "text": "{text_of(number)}"}}'
        )


class Mortal(SqliteDatabase):
    """A database whose process ends with its n-th write transaction, before that is committed."""

    def __init__(self, path: Path, last: int) -> None:
        self._writes_left = last
        super().__init__(path)

    @contextmanager
    def write(self, space: str | None = None, *, derived: bool = False) -> Iterator[Writer]:
        with super().write(space, derived=derived) as writer:
            yield writer
            self._writes_left -= 1
            if self._writes_left == 0:
                os._exit(9)


def main() -> None:
    path, space, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
    Memory.open(path, space=space, embedder=HashingEmbedder()).close()  # so that all tables exist
    memory = Memory(Mortal(Path(path), last), space, HashingEmbedder(), "none")
    memory.import_(lines())


if __name__ == "__main__":
    main()
