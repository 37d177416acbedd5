"""Taking in much at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from treering.ingest import exchange
from treering.llm.settings import NONE
from treering.memory import Memory
from treering_bench.perf.texts import RandomVectors, turns
from treering_bench.perf.timing import (
    LIMIT,
    OURS,
    Timing,
    compared,
    seconds_of,
)
from treering_bench.perf.world import BATCH, BareFile, source_of

TURN_CHARS = 100  # of a text, for each that ``n`` counts: 1,000,000 are a text of 100 MB


class LargeInputs:
    """Takes in exports and texts of a size, in a fresh file."""

    def __init__(self, vectors: RandomVectors) -> None:
        self._vectors = vectors

    def export(self, n: int) -> list[Timing]:
        """``import_`` of an export of ``n`` lines, seconds a line."""
        return self._timed("import", n, lambda memory: memory.import_(_lines(n)))

    def text(self, n: int) -> list[Timing]:
        """``add`` of one text, seconds for 100 characters of it."""
        content = "\n".join(turn["content"] for turn in turns(0, n))[: n * TURN_CHARS]
        return self._timed("text", n, lambda memory: memory.add(content, source="book"))

    def _timed(self, operation: str, n: int, take_in: Callable[[Memory], object]) -> list[Timing]:
        with TemporaryDirectory(prefix="treering-perf-") as folder:
            path = Path(folder) / "memory.db"
            with Memory.open(path, embedder=self._vectors, llm=NONE) as memory:
                ours = seconds_of(lambda: take_in(memory))
                fragments = memory.stats().fragments
            limit = self._bare(Path(folder) / "bare.db", n, fragments)
        return compared(operation, n, {LIMIT: [limit / n], OURS: [ours / n]})

    def _bare(self, path: Path, n: int, fragments: int) -> float:
        """The seconds of storing as many texts and vectors in SQLite, of as many characters."""
        content = "n" * max(1, n * TURN_CHARS // fragments)
        seconds = 0.0
        with closing(BareFile(path)) as bare:
            for start in range(0, fragments, BATCH):
                texts = [content] * min(BATCH, fragments - start)
                vectors = self._vectors.embed(texts)
                seconds += seconds_of(lambda: bare.add(texts, vectors))  # noqa: B023
        return seconds


def _lines(n: int) -> Iterator[str]:
    """An export of ``n`` turns."""
    yield exchange.header({})
    for start in range(0, n, BATCH):
        for number, turn in enumerate(turns(start, min(BATCH, n - start)), start=start):
            fields = {
                "id": f"{number:016x}",
                "source": source_of(number),
                "position": number % BATCH,
                "kind": "chat",
                "added": datetime.fromtimestamp(turn["at"], UTC).isoformat(),
                "at": datetime.fromtimestamp(turn["at"], UTC).isoformat(),
                "speaker": turn["name"],
                "role": turn["role"],
                "session": turn["session"],
                "metadata": turn["metadata"],
                "text": turn["content"],
            }
            yield json.dumps(fields)
