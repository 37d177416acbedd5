"""Taking in short turns, against the bare embedder on the same texts, in turn in one run.

    python benchmarks/ingest_speed.py [--turns 2048]

The turns are sentences of the language reference that comes with CPython. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics

from treering import Memory
from treering.embed.minilm import MiniLM
from treering.fragments.build import embedded_text

BATCH = 256


def sentences(count: int) -> list[str]:
    """Different sentences of 40 to 240 characters."""
    text = " ".join(" ".join(topic.split()) for topic in topics.values())
    found = dict.fromkeys(one for one in re.split(r"(?<=[.?!]) ", text) if 40 <= len(one) <= 240)
    return list(found)[:count]


def main() -> None:
    """Alternate between both for every batch and compare the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=2048)
    texts = sentences(parser.parse_args().turns)
    embedder = MiniLM()
    embedder.embed(["load the model"])
    bare = added = 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "benchmark.db", embedder=embedder) as memory,
    ):
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            begin = time.perf_counter()
            embedder.embed([embedded_text(text, "Ana") for text in batch])
            middle = time.perf_counter()
            memory.add(
                [{"role": "user", "name": "Ana", "content": text} for text in batch],
                source="chat",
            )
            bare += middle - begin
            added += time.perf_counter() - middle
        pending = memory.stats().pending
    figures = {
        "turns": len(texts),
        "bare_a_second": len(texts) / bare,
        "added_a_second": len(texts) / added,
        "share_of_bare": bare / added,
        "pending": pending,
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
