"""A large text and a long chat in constant memory.

    python benchmarks/ingest_large.py [--megabytes 1000] [--messages 100000]

Writes a text file of that size, adds it in a process of its own and reports the peak of resident
memory, then does the same with a tenth of it; likewise for a generator of messages. The embedder
returns fixed vectors, so that what is measured is treering. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import numpy as np

from treering import Memory
from treering.relate.contract import Floats


class FixedVectors:
    """An embedder that costs nothing."""

    name = "fixed"
    dimension = 8

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """The same vector for every text."""
        return np.ones((len(texts), self.dimension), dtype=np.float32)


def write_text(path: Path, megabytes: float) -> None:
    """The language reference over and over, numbered so that no two pages are equal."""
    page = "\n\n".join(topics.values())
    with path.open("w", encoding="utf-8") as stream:
        number = 0
        while stream.tell() < megabytes * 1e6:
            stream.write(f"Copy {number}\n\n{page}\n\n")
            number += 1


def messages(count: int) -> Iterator[dict[str, Any]]:
    """A chat of different messages."""
    for number in range(count):
        yield {"role": "user", "name": "Ana", "content": f"message {number} of a long chat"}


def main() -> None:
    """Run each size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=1000)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.megabytes, given.messages)))
        return
    figures = {}
    for kind, share in (("text", 0.1), ("text", 1.0), ("chat", 0.1), ("chat", 1.0)):
        command = [sys.executable, __file__, "--one", kind]
        command += ["--megabytes", str(given.megabytes * share)]
        command += ["--messages", str(int(given.messages * share))]
        found = subprocess.run(command, check=True, capture_output=True, text=True)
        figures[f"{kind} {share:.0%}"] = json.loads(found.stdout)
        print(kind, share, found.stdout.strip(), file=sys.stderr)
    print(json.dumps(figures, indent=1))


def one(kind: str, megabytes: float, count: int) -> dict[str, float]:
    """Add one text or chat; seconds and peak resident bytes."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "large.txt"
        if kind == "text":
            write_text(text, megabytes)
        memory = Memory.open(Path(folder) / "benchmark.db", embedder=FixedVectors())
        begin = time.perf_counter()
        receipt = memory.add(text if kind == "text" else messages(count), source="large")
        seconds = time.perf_counter() - begin
        memory.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    return {"entries": receipt.added, "seconds": seconds, "peak_bytes": peak}


if __name__ == "__main__":
    main()
