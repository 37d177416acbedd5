"""Fragments of another size: what is there is cut anew, and long ones are embedded in parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.arrays import Floats
from treering.views.fragments.cut import PartwiseEmbedder

STORY = "".join(f"Sentence {n} is of the sea and of boats. " for n in range(200))


def lengths(memory: Memory) -> list[int]:
    hits = memory.search("boats", k=1000, relations=())
    return [len(hit.text.split()) for hit in sorted(hits, key=lambda hit: hit.start)]


def test_fragments_have_the_size_that_is_set(memory: Memory) -> None:
    memory.configure(fragment="500 words")
    memory.add(STORY, kind="text")
    assert len(STORY.split()) == 1800
    assert lengths(memory) == [495, 495, 495, 315]
    assert memory.stats().pending == {}


def test_what_is_there_is_cut_anew_by_settle(memory: Memory) -> None:
    memory.add(STORY, kind="text")
    memory.tree.settle()
    short = len(lengths(memory))
    memory.configure(fragment="800 words")
    assert memory.stats().outdated == ("fragments",)
    memory.settle()
    assert memory.stats().outdated == ()
    assert short > len(lengths(memory)) == 3
    assert memory.tree.stats().leaves == 3
    memory.configure("default")
    memory.settle()
    assert len(lengths(memory)) == short


def test_a_vector_of_a_long_fragment_is_made_of_its_parts(open_memory: Open) -> None:
    short_sighted = ShortSighted()
    memory = open_memory(embedder=short_sighted)
    memory.configure(fragment="100 words")
    # All that the query shares with the text stands behind what the model reads.
    memory.add("padding " * 40 + "lighthouse", source="far", kind="text")
    memory.add("something " * 45, source="near", kind="text")
    [best, _] = memory.search("lighthouse", mode="dense", relations=())
    assert best.source == "far"
    assert best.why.cosine is not None
    assert best.why.cosine > 0.1


class ShortSighted(HashingEmbedder):
    """Reads 200 characters of a text, and says so."""

    reads = 200

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        return super().embed([text[: self.reads] for text in texts], query=query)


def test_parts_count_by_their_length() -> None:
    model = HashingEmbedder()
    model.reads = 12  # type: ignore[attr-defined]
    [vector] = PartwiseEmbedder(model).embed(["a boat at sea"])
    parts = model.texts
    assert "".join(parts) == "a boat at sea"
    assert len(parts) == 2
    own = HashingEmbedder().embed(parts)
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    expected = (own[0] * len(parts[0]) + own[1] * len(parts[1])) / 13
    assert vector == pytest.approx(expected, abs=1e-6)
    [whole] = PartwiseEmbedder(model).embed(["a boat"])
    assert whole == pytest.approx(HashingEmbedder().embed(["a boat"])[0])
