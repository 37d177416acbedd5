"""What is lost by candidates that PostgreSQL finds, against ranking every fragment.

Vectors are those of real sentences, repeated with noise: vectors by chance have no neighbours, and
would say nothing of an index of neighbours.
"""

from __future__ import annotations

import statistics
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from treering.arrays import Floats
from treering.embed.contract import Embedder
from treering.llm.settings import NONE
from treering.memory import Memory
from treering.records import Hit
from treering_bench.perf.texts import FIRST_AT, SESSION, TURN_S, sentences
from treering_bench.perf.timing import seconds_of

K: Final = 10
NOISE: Final = 0.75
"""Length of the noise that a unit vector gets: two repetitions of one have cosines of about .64."""

TEAMS: Final = 100
"""Values of the metadata that a filter asks for: one keeps 1 % of the turns."""

ADDED: Final = 1_000
"""Turns of a source: as many as are stored at once, without waiting in tables first."""

VOCABULARY: Final = 30_000
ALL: Final = 1 << 31
"""A limit that no space reaches."""

FILTERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "all": {},
    "1 %": {"metadata": {"team": 7}},
    "50 %": {"speaker": "Ana"},
}


class RepeatedVectors:
    """The vectors of some sentences, with noise of its own for each text that begins with one."""

    def __init__(self, model: Embedder, texts: Sequence[str]) -> None:
        self.name = f"{model.name} repeated"
        self.dimension = model.dimension
        vectors = model.embed(texts)
        self._vectors = dict(zip(texts, np.asarray(vectors, dtype=np.float32), strict=True))

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:  # noqa: ARG002
        """Unit vectors of shape (len(texts), dimension); the same for the same texts."""
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            sentence = text.removeprefix("Ana: ").removeprefix("Ben: ").partition(" name")[0]
            rng = np.random.default_rng(zlib.crc32(text.encode()))
            noise = rng.standard_normal(self.dimension, dtype=np.float32)
            vector = self._vectors.get(sentence, np.zeros(self.dimension, np.float32))
            rows[row] = vector + NOISE * noise / np.linalg.norm(noise)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


@dataclass(frozen=True, slots=True)
class CandidateTrial:
    """A schema of PostgreSQL to fill, with so many fragments, and so many questions to ask."""

    url: str
    fragments: int
    questions: int

    def measure(self, model: Embedder) -> dict[str, Any]:
        """The share of the ten best that is found, and milliseconds, by filter.

        Turns that the schema has are not stored again, nor is its index made again: a schema that
        was filled is measured at once.
        """
        texts = sentences(self.fragments)
        embedder = RepeatedVectors(model, texts)
        with (
            Memory.open(_limited(self.url, ALL), embedder=embedder, llm=NONE) as exact,
            Memory.open(_limited(self.url, 1), embedder=embedder, llm=NONE) as found,
        ):
            stored = seconds_of(lambda: self._fill(exact, texts))
            indexed = seconds_of(found.settle)
            asked = list(_questions(texts, self.questions))
            return {
                "fragments": exact.stats().fragments,
                "stored_s": round(stored, 1),
                "indexed_s": round(indexed, 1),
                "filters": {name: _compared(exact, found, asked, name) for name in FILTERS},
            }

    def _fill(self, memory: Memory, texts: Sequence[str]) -> None:
        """Add the turns that are not there yet."""
        there = memory.stats().entries
        for start in range(there - there % ADDED, self.fragments, ADDED):
            stop = min(start + ADDED, self.fragments)
            memory.add(list(_turns(texts, start, stop)), source=f"chat{start}")


def _limited(url: str, limit: int) -> str:
    return f"{url}{'&' if '?' in url else '?'}limit={limit}"


def _turns(texts: Sequence[str], start: int, stop: int) -> Iterator[dict[str, Any]]:
    """Turns of a chat in sessions: a sentence each, and some words that follow Zipf's law."""
    rng = np.random.default_rng(start)
    for number in range(start, stop):
        words = " ".join(f"name{rank}" for rank in np.minimum(rng.zipf(1.3, 4), VOCABULARY))
        yield {
            "role": "assistant",  # of bots, nothing is read that people tell of themselves
            "name": ("Ana", "Ben")[number % 2],
            "content": f"{texts[int(rng.integers(len(texts)))]} {words}",
            "session": str(number // SESSION),
            "at": FIRST_AT + TURN_S * number,
            "metadata": {"team": int(rng.integers(TEAMS))},
        }


def _questions(texts: Sequence[str], count: int) -> Iterator[str]:
    """Sentences, each with a word of its own."""
    rng = np.random.default_rng(count)
    for number in range(count):
        yield f"{texts[int(rng.integers(len(texts)))]} name{37 * number + 5}"


def _compared(exact: Memory, found: Memory, asked: Sequence[str], name: str) -> dict[str, float]:
    condition = FILTERS[name]
    for memory in (exact, found):
        memory.search(asked[0], k=K, **condition)  # loads what is loaded once
    shares: list[float] = []
    taken: dict[str, list[float]] = {"exact": [], "found": []}
    for question in asked:
        hits: dict[str, list[Hit]] = {}
        for side, memory in (("exact", exact), ("found", found)):
            began = time.perf_counter()
            hits[side] = memory.search(question, k=K, **condition)
            taken[side].append(time.perf_counter() - began)
        best = {(hit.entry_id, hit.start) for hit in hits["exact"]}
        there = {(hit.entry_id, hit.start) for hit in hits["found"]}
        shares.append(len(best & there) / max(len(best), 1))
    return {
        "found": round(statistics.fmean(shares), 4),
        **{
            f"{side}_p50_ms": round(1_000 * statistics.median(times), 2)
            for side, times in taken.items()
        },
    }
