"""How much main memory an ingest takes: ``python -m tests.bulk.memory_process FILE FOLDER``.

Prints the peak, in KiB.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

from tests.embedders import HashingEmbedder
from treering.bulk.ingest import bulk_ingest
from treering.memory import Memory


def main() -> None:
    with Memory.open(sys.argv[1], embedder=HashingEmbedder(dimension=8), llm="none") as memory:
        bulk_ingest(memory, Path(sys.argv[2]), workers=1)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    main()
