"""A process that is gone in the middle of an import: ``python -m tests.ingest.import_process``.

Arguments: the file or URL, the space, and the write transaction with which the process ends,
uncommitted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests import programs
from tests.embedders import HashingEmbedder
from treering.ingest import exchange
from treering.journal.contract import Database, Writer
from treering.journal.open import open_database
from treering.memory import Memory

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60

COUNT = 600


def killed(url: Path | str, space: str, last: int) -> None:
    """Begin an import in a process that ends with its n-th write transaction."""
    process = programs.run(
        [sys.executable, "-m", "tests.ingest.import_process", str(url), space, str(last)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=TIMEOUT_S,
    )
    assert process.returncode == 9


def text_of(number: int) -> str:
    """The text of a line, which no other line has."""
    return f"Sentence {number:06} of the import, which nobody else says."


def lines(entries: int = COUNT) -> Iterator[str]:
    """An export of one source."""
    yield exchange.header({})
    for number in range(entries):
        yield (
            f'{{"id": "{number:016x}", "source": "talk", "position": {number}, "kind": "chat",'
            f' "speaker": "Ana", "text": "{text_of(number)}"}}'
        )


def end_with(database: Database, last: int) -> None:
    """Let the process end with the n-th write transaction of a database, before it is committed."""
    write, transactions = database.write, count(1)

    @contextmanager
    def mortal(space: str | None = None, *, derived: bool = False) -> Iterator[Writer]:
        with write(space, derived=derived) as writer:
            yield writer
            if next(transactions) == last:
                os._exit(9)

    database.write = mortal  # type: ignore[method-assign]


def main() -> None:
    url, space, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
    Memory.open(url, space=space, embedder=HashingEmbedder()).close()  # so that all tables exist
    database = open_database(url)
    memory = Memory(database, space, HashingEmbedder(), "none")
    end_with(database, last)
    memory.import_(lines())


if __name__ == "__main__":
    main()
