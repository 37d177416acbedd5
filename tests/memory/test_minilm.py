"""End to end with the bundled model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pytest

from treering import Memory
from treering.arrays import Floats
from treering.embed.minilm import MiniLM


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory, model: MiniLM) -> Iterator[Memory]:
    """Some pages of Python's language reference."""
    path = tmp_path_factory.mktemp("memory") / "reference.db"
    with Memory.open(path, embedder=model) as memory:
        for name in ("lambda", "with", "yield", "assert", "global", "del", "pass", "break"):
            memory.add(topics[name], source=name)
        yield memory


def test_a_question_in_other_words_finds_its_page(reference: Memory) -> None:
    cases = [
        ("How do I make an anonymous function?", "lambda"),
        ("How is a context manager entered and left?", "with"),
        ("How can a statement check a debugging condition?", "assert"),
        ("How do I leave a loop early?", "break"),
        ("What statement does nothing when it is executed?", "pass"),
    ]
    for question, source in cases:
        assert source in [hit.source for hit in reference.search(question, k=2)]
        assert f"] {source}\n" in str(reference.context(question, budget=600))


def test_it_opens_again_with_the_default_model(tmp_path: Path, model: MiniLM) -> None:
    path = tmp_path / "life.db"
    with Memory.open(path, embedder=model) as memory:
        memory.add("My sister moved to Porto.")
    with Memory.open(path) as memory:
        assert memory.stats().model == "minilm"
        assert memory.stats().dimension == 384
        assert [entry.text for entry in memory.entries()] == ["My sister moved to Porto."]


def test_vectors_are_of_unit_length_and_do_not_depend_on_the_batch(model: MiniLM) -> None:
    texts = ["Porto", "My sister moved to Porto.", "word " * 2_000, "…", " ", "\u0301", "名前 🚣"]
    together = model.embed(texts)
    assert together.shape == (len(texts), 384)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-4)
    alone: Floats = np.concatenate([model.embed([text]) for text in texts])
    # int8 activations are scaled by what else is in the batch.
    assert (together * alone).sum(axis=1).min() > 0.97
    assert model.embed([]).shape == (0, 384)


def test_meaning_counts_more_than_words(model: MiniLM) -> None:
    asked, answer, other = model.embed(
        ["Where does she live now?", "My sister moved to Porto.", "The bank raises its rates."]
    )
    assert asked @ answer > asked @ other + 0.1
