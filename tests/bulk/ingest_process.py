"""A process that is killed amid a bulk ingest: ``python -m tests.bulk.ingest_process``.

Arguments: the file, the folder, and when: with which ``write`` transaction, uncommitted, or with
which call to ``embed`` of its workers.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.bulk.workers import Killing
from tests.embedders import HashingEmbedder
from tests.ingest.import_process import end_with
from treering.bulk.ingest import bulk_ingest
from treering.journal.open import open_database
from treering.memory import Memory


def main() -> None:
    path, folder, what, last = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    Memory.open(path, embedder=HashingEmbedder()).close()  # so that all tables exist
    if what == "write":
        database = open_database(path)
        memory = Memory(database, "default", HashingEmbedder(), "none")
        end_with(database, last)
    else:
        count = Path(tempfile.mkdtemp(dir=path.parent), "asked")
        memory = Memory.open(path, embedder=Killing(count, at=(last,)), llm="none")
    bulk_ingest(memory, folder, workers=2)


if __name__ == "__main__":
    main()
