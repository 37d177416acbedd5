"""Texts to fill a memory of any size with, and vectors that cost nothing."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pydoc_data.topics import topics
from typing import Any

import numpy as np

from treering.arrays import Floats
from treering.search.terms import stop_words

WORDS = 18  # words a turn: 100 characters, as in LoCoMo
VOCABULARY = 30_000
SESSION = 20  # turns a session
TOPICS = 50  # values of the metadata field of turns
FIRST_AT, TURN_S = 1_700_000_000, 60  # the time of the first turn, and seconds between two
_SHORTEST, _LONGEST = 40, 240  # characters of a sentence, as turns have


@dataclass(frozen=True)
class RandomVectors:
    """An embedder that costs next to nothing, so that what is timed is not a model.

    With a model's name, what it filled can be opened with the model.
    """

    name: str
    dimension: int

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:  # noqa: ARG002
        """Unit vectors of shape (len(texts), dimension); the same for the same texts.

        Each component is a byte drawn by chance. In so many dimensions their cosines are spread as
        those of normal ones, which take as long to draw as SQLite takes to store them.
        """
        rng = np.random.default_rng(zlib.crc32("".join(texts[:1]).encode()))
        drawn = np.frombuffer(rng.bytes(len(texts) * self.dimension), dtype=np.int8)
        vectors = drawn.reshape(len(texts), self.dimension).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


def turns(start: int, count: int) -> list[dict[str, Any]]:
    """The turns from number ``start`` of a chat between two people, in sessions."""
    rng = np.random.default_rng(start)
    return [_turn(number, rng) for number in range(start, start + count)]


def _turn(number: int, rng: np.random.Generator) -> dict[str, Any]:
    # Word frequencies fall off as in natural text.
    ranks = np.minimum(rng.zipf(1.3, WORDS // 2), VOCABULARY)
    stop = _STOP_WORDS[rng.integers(len(_STOP_WORDS))]
    return {
        "role": "user",
        "name": ("Ana", "Ben")[number % 2],
        "content": " ".join(f"{stop} name{rank}" for rank in ranks),
        "session": str(number // SESSION),
        "at": FIRST_AT + TURN_S * number,
        "metadata": {"topic": number % TOPICS},
    }


def questions() -> Iterator[str]:
    """Different questions about the turns, for ever."""
    number = 0
    while True:
        number += 1
        yield f"what did Ben tell Ana about name{37 * number} before name{number * number}?"


def sentences(count: int) -> list[str]:
    """Different sentences of the language reference that comes with CPython."""
    text = " ".join(" ".join(topic.split()) for topic in topics.values())
    distinct = dict.fromkeys(re.split(r"(?<=[.?!]) ", text))
    return [sentence for sentence in distinct if _SHORTEST <= len(sentence) <= _LONGEST][:count]


_STOP_WORDS = sorted(stop_words())
