"""Vectors in blocks equal the plain matrix, whatever came, came late or went."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.arrays import LARGE_PAGE, Floats, quantise_rows, restore_rows
from treering.search.vectors import Block
from treering.views.fragments.columns import VectorRows

WIDTH = 4
step = st.one_of(
    st.tuples(st.just("extend"), st.integers(0, 9)),
    st.tuples(st.just("append"), st.integers(0, 9)),
    st.tuples(st.just("place"), st.sets(st.integers(0, 40), max_size=5)),
    st.tuples(st.just("remove"), st.sets(st.integers(0, 40), max_size=9)),
)


def units(count: int, rng: np.random.Generator) -> Floats:
    rows = rng.normal(size=(count, WIDTH))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


def append(rows: VectorRows, vectors: Floats) -> None:
    first = len(rows)
    rows.extend(len(vectors))
    rows.place(np.arange(first, len(rows)), Block(vectors, None))


@pytest.mark.parametrize("exact", [True, False])
@given(steps=st.lists(step, max_size=12), seed=st.integers(0, 99))
def test_blocks_equal_the_plain_matrix(
    exact: bool, steps: list[tuple[str, Any]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = VectorRows(WIDTH, exact, block_bytes=12 * WIDTH)
    naive = np.zeros((0, WIDTH), dtype=np.float32)
    shown = []
    for name, what in steps:
        if name == "extend":
            rows.extend(what)
            naive = np.concatenate([naive, np.zeros((what, WIDTH), dtype=np.float32)])
        elif name == "append":
            new = units(what, rng)
            append(rows, new)
            naive = np.concatenate([naive, new])
        else:
            chosen = np.array(sorted(n for n in what if n < len(naive)), dtype=np.int64)
            if name == "place":
                vectors = units(len(chosen), rng)
                rows.place(chosen, Block(vectors, None))
                naive[chosen] = vectors
            else:
                rows.remove(chosen)
                naive = np.delete(naive, chosen, axis=0)
        expected = naive if exact else restore_rows(*quantise_rows(naive))
        matrix = rows.matrix()
        assert matrix.shape == naive.shape
        np.testing.assert_array_equal(np.asarray(matrix), expected)
        shown.append((matrix, expected.copy()))
    for matrix, expected in shown:  # what was read earlier has not changed
        np.testing.assert_array_equal(np.asarray(matrix), expected)


def test_rows_in_large_pages_equal_the_plain_matrix_after_some_went() -> None:
    width, per_block = 2_048, 1_024
    rng = np.random.default_rng(0)
    codes = rng.integers(-127, 128, size=(3 * per_block + 5, width), dtype=np.int8)
    rows = VectorRows(width, exact=False, block_bytes=LARGE_PAGE)
    rows.extend(len(codes))
    ones = np.ones(len(codes), dtype=np.float32)
    rows.place(np.arange(len(codes)), Block(codes, ones))
    before = rows.matrix()
    gone = np.array([3, 2 * per_block + 1, 2 * per_block + 2, len(codes) - 2])
    rows.remove(gone)
    kept = np.delete(codes, gone, axis=0)
    np.testing.assert_array_equal(np.asarray(rows.matrix()), kept)
    more = rng.integers(-127, 128, size=(7, width), dtype=np.int8)
    rows.extend(len(more))
    rows.place(np.arange(len(kept), len(rows)), Block(more, ones[: len(more)]))
    np.testing.assert_array_equal(np.asarray(rows.matrix()), np.concatenate([kept, more]))
    np.testing.assert_array_equal(np.asarray(before), codes)
