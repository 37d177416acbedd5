"""A small talk and models for the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from treering.arrays import Floats
from treering.llm.scripted import Request

SENTENCES = (
    "Ana sails her boat to the harbour",
    "Ana paints the boat at the harbour",
    "The harbour is full of boats and Ana",
    "Ben bakes bread in the oven",
    "Ben burns bread in the old oven",
    "The oven of Ben bakes rye bread",
    "Rain falls on the mountain road",
    "Snow falls on the mountain road",
    "Ana buys rope for the boat",
    "Ben buys rye flour for bread",
    "The mountain road is closed by snow",
    "Ana lost an anchor near the harbour",
)


class WordEmbedder:
    """Texts with common words are similar."""

    dimension = 1024

    def __init__(self, name: str = "words", salt: str = "") -> None:
        self.name = name
        self._salt = salt

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().replace(".", " ").split():
                vectors[row, crc32((self._salt + word).encode()) % self.dimension] += 1
        return vectors


def echo(request: Request) -> str:
    """A summary that shows what it was made from: everything the prompt was given, on one line."""
    new, current = request.text.split("[New Information]")[1].split("[Existing Information")
    old = current.split("entries)]")[1].split("[ Output Summary ]")[0]
    return " ".join(f"{old} {new}".split())
