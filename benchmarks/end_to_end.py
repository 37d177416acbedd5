"""One memory of N short turns through the public interface: open, search, memory, size.

    python benchmarks/end_to_end.py [--fragments 100000]

The turns are made of words of the English stop word list and numbered names; their vectors are
random, since embedding 100,000 texts takes minutes and their values do not change the cost. Queries
are embedded by the bundled model, so a search costs what it costs. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from treering import Memory
from treering.embed.minilm import MiniLM
from treering.relate.contract import Floats

WORDS = 18  # terms and stop words a turn: 100 characters, as in LoCoMo
VOCABULARY = 30_000
QUERIES = 40


class RandomVectors:
    """Documents get random vectors, queries those of the bundled model."""

    name = "benchmark"
    dimension = 384

    def __init__(self) -> None:
        self._queries = MiniLM()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """Random unit vectors for documents, real ones for queries."""
        if query:
            return self._queries.embed(texts, query=True)
        rng = np.random.default_rng(zlib.crc32("".join(texts[:1]).encode()))
        return rng.standard_normal((len(texts), self.dimension), dtype=np.float32)


def turns(count: int) -> Iterator[dict[str, Any]]:
    """A chat of ``count`` turns between two people in sessions of 20."""
    rng = np.random.default_rng(1)
    stop = resources.files("treering.score").joinpath("stop_words.txt").read_text("utf-8").split()
    for number in range(count):
        # Word frequencies fall off as in natural text.
        ranks = np.minimum(rng.zipf(1.3, WORDS // 2), VOCABULARY)
        content = " ".join(f"{stop[rng.integers(len(stop))]} name{rank}" for rank in ranks)
        yield {
            "role": "user",
            "name": ("Ana", "Ben")[number % 2],
            "content": content,
            "session": str(number // 20),
            "at": 1_700_000_000 + 60 * number,
        }


def build(path: Path, count: int) -> float:
    """Fill a memory; return the seconds it took."""
    start = time.perf_counter()
    with Memory.open(path, embedder=RandomVectors()) as memory:
        memory.add(turns(count), source="chat")
    return time.perf_counter() - start


def use(path: Path) -> dict[str, float]:
    """Open and search in a fresh process: seconds and bytes."""
    model = RandomVectors()
    model.embed(["the model is loaded before the clock starts"], query=True)
    before = resident()
    start = time.perf_counter()
    memory = Memory.open(path, embedder=model)
    opened = time.perf_counter()
    memory.search("what did Ana say about name17 and name4321?")
    first = time.perf_counter()
    after = resident()
    times = []
    for number in range(QUERIES):
        query = f"what did Ben tell Ana about name{37 * number} before name{number * number}?"
        begin = time.perf_counter()
        memory.search(query)
        times.append(time.perf_counter() - begin)
    stats = memory.stats()
    memory.close()
    return {
        "open_ms": 1e3 * (opened - start),
        "open_and_first_search_ms": 1e3 * (first - start),
        "search_p50_ms": 1e3 * statistics.median(times),
        "search_p95_ms": 1e3 * float(np.quantile(times, 0.95)),
        "resident_bytes_a_fragment": (after - before) / stats.fragments,
        "file_bytes_a_fragment": stats.bytes / stats.fragments,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0,
    }


def resident() -> int:
    """The bytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize()


def main() -> None:
    """Build, then use in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fragments", type=int, default=100_000)
    parser.add_argument("--use", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.use:
        print(json.dumps(use(given.use)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.db"
        seconds = build(path, given.fragments)
        found = subprocess.run(
            [sys.executable, __file__, "--use", str(path)],
            check=True,
            capture_output=True,
            text=True,
        )
    figures = {"fragments": given.fragments, "build_s": seconds, **json.loads(found.stdout)}
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
