"""The bundled model: how texts are put together in batches."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.embed.minilm import BATCH_TOKENS, MAX_TOKENS, MiniLM, batches


@given(st.lists(st.integers(2, MAX_TOKENS), max_size=60).map(sorted))
def test_batches_hold_every_text_once_and_few_tokens_with_their_padding(lengths: list[int]) -> None:
    bounds = list(batches(lengths))
    assert [index for start, stop in bounds for index in range(start, stop)] == [
        *range(len(lengths))
    ]
    for start, stop in bounds:
        assert stop == start + 1 or (stop - start) * lengths[stop - 1] <= BATCH_TOKENS


def test_what_is_loaded_is_shared_in_a_process_and_freed_with_the_last_that_uses_it() -> None:
    first, second, other = MiniLM(1), MiniLM(1), MiniLM(2)
    vectors = first.embed(["Porto"])
    model = weakref.ref(first._load())
    np.testing.assert_array_equal(second.embed(["Porto"]), vectors)
    assert second._load() is model()
    assert other._load() is not model()
    del first
    gc.collect()
    assert model() is second._load()
    del second
    gc.collect()
    assert model() is None


def test_the_first_query_of_a_brief_process_has_the_same_vector_and_loads_nothing_for_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MiniLM, "may_be_brief", True)
    model = MiniLM()
    first = model.embed(["Where does Ana live?"], query=True)
    assert model._model is None
    assert not MiniLM.may_be_brief
    second = model.embed(["Where does Ana live?"], query=True)
    assert model._model is not None
    np.testing.assert_allclose(first, second, atol=1e-5)
