"""Embedding models that fail, change or disagree: entries stay, and are found by their words."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pytest

from tests.conftest import Open
from tests.embedders import Endpoint, HashingEmbedder, Tamper, down
from tests.raised import raises
from treering import Receipt
from treering.arrays import Floats
from treering.errors import (
    DimensionMismatch,
    EmbeddingError,
    InputError,
    ModelMismatch,
)
from treering.hints import Hint
from treering.records import Stats

CHAT = [{"role": "user", "content": f"Porto {n} river"} for n in range(10)]


def unembedded(stats: Stats) -> dict[str, int]:
    """Pending work but for summaries, which wait for settle()."""
    return {view: count for view, count in stats.pending.items() if view != "tree"}


def not_finite(texts: Sequence[str], vectors: Floats) -> Floats:
    vectors[:, 0] = np.nan
    return vectors


def too_narrow(texts: Sequence[str], vectors: Floats) -> Floats:
    return vectors[:, :-1]


def too_few(texts: Sequence[str], vectors: Floats) -> Floats:
    return vectors[:-1]


def broken(texts: Sequence[str], vectors: Floats) -> Floats:
    raise RuntimeError("out of memory")


@pytest.mark.parametrize("tamper", [down, not_finite, too_narrow, too_few, broken])
def test_a_model_that_fails_delays_the_embedding_and_loses_nothing(
    open_memory: Open, caplog: pytest.LogCaptureFixture, tamper: Tamper
) -> None:
    embedder = HashingEmbedder(tamper=tamper)
    memory = open_memory(embedder=embedder)
    with caplog.at_level(logging.WARNING):
        receipt = memory.add(CHAT, source="chat")
    assert receipt.added == receipt.pending == 10
    assert "settle() retries" in caplog.text
    assert [hit.text for hit in memory.search("Porto 7", k=1, mode="lexical")] == ["Porto 7 river"]
    with pytest.raises(EmbeddingError):
        memory.settle()
    assert memory.stats().embedded == 0
    embedder.tamper = None
    assert memory.settle().pending == {}
    assert memory.stats().embedded == 10
    assert memory.search("Porto 7", k=1, mode="dense", relations=())[0].text == "Porto 7 river"


def poisoned(texts: Sequence[str], vectors: Floats) -> Floats:
    vectors[["poison" in text for text in texts]] = np.nan
    return vectors


def refused(texts: Sequence[str], vectors: Floats) -> Floats:
    if any("poison" in text for text in texts):
        raise EmbeddingError("400: the input is refused")
    return vectors


@pytest.mark.parametrize("tamper", [poisoned, refused])
def test_one_text_that_a_model_cannot_embed_does_not_hold_up_the_others(
    open_memory: Open, tamper: Tamper
) -> None:
    memory = open_memory(embedder=HashingEmbedder(tamper=tamper))
    many = [{"role": "user", "content": f"message {n}"} for n in range(70)]
    memory.add([{"role": "user", "content": "a poisoned text"}, *many], source="chat")
    memory.add([{"role": "user", "content": f"Lisbon {n}"} for n in range(5)], source="later")
    with pytest.raises(EmbeddingError):
        memory.settle()
    assert memory.stats().embedded == 75
    assert sum(unembedded(memory.stats()).values()) == 1
    assert memory.search("poisoned", k=1, mode="lexical")[0].text == "a poisoned text"
    assert memory.search("Lisbon 3", k=1)[0].text == "Lisbon 3"


def test_an_endpoint_that_is_down_hinders_neither_opening_nor_adding(open_memory: Open) -> None:
    endpoint = Endpoint(up=False)
    memory = open_memory(embedder=endpoint)
    memory.add(CHAT, source="chat")
    assert memory.stats().entries == 10
    assert memory.search("Porto 7", mode="lexical")[0].text == "Porto 7 river"
    endpoint.up = True
    memory.settle()
    assert memory.stats().embedded == 10
    memory.close()
    endpoint.up = False
    again = open_memory(embedder=endpoint)
    assert again.search("Porto 7", mode="lexical")[0].text == "Porto 7 river"
    assert again.add("Later.").added == 1


# ------------------------------------------------------------------ another model


def test_opening_with_another_model_says_what_to_do(open_memory: Open) -> None:
    open_memory().add(CHAT)
    with raises(ModelMismatch, hint=Hint.CHANGE_MODEL):
        open_memory(embedder=HashingEmbedder("other"))


def test_a_model_that_changed_its_dimension_under_its_name_is_refused(open_memory: Open) -> None:
    open_memory().add(CHAT)
    memory = open_memory(embedder=HashingEmbedder(dimension=32))
    with pytest.raises(DimensionMismatch):
        memory.search("Porto 7")
    assert memory.add("Lisbon").pending == 1
    assert memory.search("Lisbon", k=1, mode="lexical")[0].text == "Lisbon"
    memory.close()
    again = open_memory()
    again.settle()
    assert again.search("Lisbon", k=1, mode="dense", relations=())[0].text == "Lisbon"


def test_reembed_changes_the_model_and_search_follows(open_memory: Open) -> None:
    memory = open_memory()
    memory.add(CHAT)
    stats = memory.reembed(HashingEmbedder("other", 32))
    assert (stats.model, stats.dimension, stats.embedded) == ("other", 32, 10)
    assert unembedded(stats) == {}
    assert memory.search("Porto 7", k=1, mode="dense", relations=())[0].text == "Porto 7 river"
    memory.add("Lisbon")
    assert memory.stats().embedded == 11
    memory.close()
    assert open_memory(embedder=HashingEmbedder("other", 32)).search("Lisbon")


def test_reembed_with_the_same_model_is_refused(open_memory: Open) -> None:
    memory = open_memory()
    memory.add(CHAT)
    with pytest.raises(InputError, match="has the model 'hashing' already"):
        memory.reembed(HashingEmbedder())


def test_an_interrupted_reembed_leaves_the_old_model_answering_and_goes_on_later(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treering.views.fragments.build.BATCH_FRAGMENTS", 4)
    memory = open_memory()
    memory.add(CHAT)
    before = memory.search("Porto 7")
    new = HashingEmbedder("other", 32, tamper=_fails_after(2))
    with pytest.raises(EmbeddingError):
        memory.reembed(new)
    assert memory.search("Porto 7") == before
    assert memory.stats().model == "hashing"
    memory.add("Lisbon")
    assert memory.search("Lisbon", k=1)[0].text == "Lisbon"
    new.tamper = None
    new.texts.clear()
    memory.reembed(new)
    assert len(new.texts) == 3  # two of the ten, and the new one
    assert (memory.stats().model, memory.stats().embedded) == ("other", 11)
    assert unembedded(memory.stats()) == {}


def _fails_after(calls: int) -> Tamper:
    left = [calls]

    def tamper(texts: Sequence[str], vectors: Floats) -> Floats:
        if not left[0]:
            raise EmbeddingError("connection lost")
        left[0] -= 1
        return vectors

    return tamper


def test_an_interrupted_reembed_can_be_given_up(open_memory: Open) -> None:
    memory = open_memory()
    memory.add(CHAT)
    with pytest.raises(EmbeddingError):
        memory.reembed(HashingEmbedder("other", 32, tamper=down))
    memory.reembed(HashingEmbedder())
    assert (memory.stats().model, unembedded(memory.stats())) == ("hashing", {})
    memory.add("Lisbon")
    assert unembedded(memory.stats()) == {}


def test_what_another_handle_adds_during_a_reembed_is_embedded_too(open_memory: Open) -> None:
    memory, other = open_memory(), open_memory()
    memory.add(CHAT, source="chat")
    added: list[Receipt] = []

    def meanwhile(texts: Sequence[str], vectors: Floats) -> Floats:
        if len(added) < 3:
            added.append(other.add(f"Lisbon {len(added)}", source="notes"))
        return vectors

    memory.reembed(HashingEmbedder("other", 32, tamper=meanwhile))
    memory.settle()
    stats = memory.stats()
    assert (stats.entries, stats.fragments, stats.embedded) == (13, 13, 13)
    assert unembedded(stats) == {}
    with raises(ModelMismatch, hint=Hint.CHANGE_MODEL):
        other.search("Lisbon")
    assert other.add("Faro", source="notes").added == 1
    assert memory.search("Faro", k=1)[0].text == "Faro"
    assert memory.stats().embedded == 14


def test_of_two_reembeds_at_once_the_later_one_decides(open_memory: Open) -> None:
    memory, other = open_memory(), open_memory()
    memory.add(CHAT)

    def overtaken(texts: Sequence[str], vectors: Floats) -> Floats:
        if other.stats().model == "hashing":
            other.reembed(HashingEmbedder("second", 16))
        return vectors

    with pytest.raises(ModelMismatch):
        memory.reembed(HashingEmbedder("first", 32, tamper=overtaken))
    stats = other.stats()
    assert (stats.model, stats.embedded, unembedded(stats)) == ("second", 10, {})
    assert other.search("Porto 7", k=1, mode="dense", relations=())[0].text == "Porto 7 river"


def test_what_is_no_embedder_is_refused(open_memory: Open) -> None:
    for wrong, message in (
        (object(), "has no name, dimension and embed"),
        ("word2vec:x", "no embedder 'word2vec:x'; give minilm"),
    ):
        with pytest.raises(InputError, match=message):
            open_memory(embedder=wrong)


def test_who_is_stopped_while_a_slow_model_reads_a_long_text_goes_on_there(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treering.views.fragments.build.BATCH_FRAGMENTS", 4)
    monkeypatch.setattr("treering.views.fragments.build.EMBED_S", 0.0)

    def stopped(texts: Sequence[str], vectors: Floats) -> Floats:
        if any("number 30 " in text for text in texts):
            raise KeyboardInterrupt
        return vectors

    text = "\n\n".join(f"This is paragraph number {number} of a book. " * 9 for number in range(50))
    embedder = HashingEmbedder(tamper=stopped)
    with open_memory(embedder=embedder) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.add(text, source="book")
        stats = memory.stats()
        assert stats.fragments > stats.embedded > 0
    embedder.tamper, embedder.texts[:] = None, []
    with open_memory(embedder=embedder) as memory:
        assert memory.settle().embedded == stats.fragments
        assert len(embedder.texts) == stats.fragments - stats.embedded


def test_entries_are_indexed_in_batches_of_so_many_bytes(
    open_memory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treering.views.follow.BATCH_BYTES", 1_000)
    told: list[tuple[int, int]] = []
    lengths = [300, 300, 5_000, 200, 900, 10]
    with open_memory() as memory:
        with pytest.MonkeyPatch.context() as paused:
            paused.setattr(memory._views, "build", lambda *_, **__: None)
            for number, length in enumerate(lengths):
                memory.add("ü" * (length // 2), source=str(number))
        memory.settle(progress=lambda done, total: told.append((done, total)))
        assert [done for done, total in told if total == len(lengths)] == [2, 3, 4, 6]
        assert memory.stats().pending == {}
