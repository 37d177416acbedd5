"""A process that rebuilds the fragments of a file, and says how far it has come, to be killed."""

from __future__ import annotations

import sys

from tests.embedders import HashingEmbedder
from treering import Memory

if __name__ == "__main__":
    with Memory.open(sys.argv[1], embedder=HashingEmbedder()) as memory:
        memory.rebuild("fragments", progress=lambda done, total: print(done, total, flush=True))
