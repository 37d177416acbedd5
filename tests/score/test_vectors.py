"""Products over blocks equal those of the plain matrix; eight bits are near, and exact of codes."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering import arrays
from treering.arrays import LARGEST, Floats, product, quantise_rows, restore_rows
from treering.search.vectors import Block, VectorBlocks, cosines, project, whole_products

sizes = st.lists(st.integers(0, 9), max_size=4)
widths = st.sampled_from([1, 5, 64, 384])


def units(count: int, width: int, seed: int) -> Floats:
    rows = np.random.default_rng(seed).standard_normal((count, width), dtype=np.float32)
    rows[: count // 4] = 0  # not embedded
    norms = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-9))
    result: Floats = rows / norms
    return result


def blocks(parts: list[Floats], width: int, exact: bool) -> VectorBlocks:
    made = [Block(part, None) if exact else Block(*quantise_rows(part)) for part in parts]
    return VectorBlocks(made, width)


@given(rows=st.integers(0, 20), width=widths, seed=st.integers(0, 99))
def test_quantised_rows_are_off_by_half_a_step_and_do_not_depend_on_the_others(
    rows: int, width: int, seed: int
) -> None:
    vectors = units(rows, width, seed)
    codes, scale = quantise_rows(vectors)
    step = np.abs(vectors).max(axis=1, initial=0) / LARGEST
    assert (np.abs(restore_rows(codes, scale) - vectors) <= 0.501 * step[:, None] + 1e-9).all()
    assert codes.min(initial=0) >= -LARGEST
    for row in range(rows):
        alone, its_scale = quantise_rows(vectors[row : row + 1])
        np.testing.assert_array_equal(alone[0], codes[row])
        assert its_scale[0] == scale[row]


def test_a_product_does_not_warn_of_what_blas_reads_behind_a_row() -> None:
    endless = np.full((1, 1), np.inf, dtype=np.float32)  # as the memory behind a row may be
    with np.errstate(invalid="raise"):
        assert np.isnan(product(endless, np.zeros(1, dtype=np.float32)))


@pytest.mark.parametrize("exact", [True, False])
@given(sizes=sizes, width=widths, seed=st.integers(0, 99))
def test_products_over_blocks_are_those_of_the_matrix(
    exact: bool, sizes: list[int], width: int, seed: int
) -> None:
    parts = [units(size, width, seed + at) for at, size in enumerate(sizes)]
    matrix = blocks(parts, width, exact)
    plain = np.asarray(matrix)
    asked = units(2, width, seed + 50)
    scores = np.random.default_rng(seed).normal(size=len(plain)).astype(np.float32)
    coarse = 1e-5 if exact else 0.02 * max(np.abs(asked).max(initial=0) * width**0.5, 1)
    np.testing.assert_allclose(cosines(matrix, asked[0]), product(plain, asked[0]), atol=coarse)
    np.testing.assert_allclose(cosines(plain, asked[0]), product(plain, asked[0]), atol=1e-6)
    np.testing.assert_allclose(project(matrix, scores), product(plain.T, scores), atol=1e-4)
    np.testing.assert_allclose(project(plain, scores), product(plain.T, scores), atol=1e-4)
    longer, whole = matrix.with_rows(asked), np.concatenate([plain, asked])
    np.testing.assert_allclose(cosines(longer, asked[1]), product(whole, asked[1]), atol=coarse)


@pytest.mark.parametrize("exact", [True, False])
@given(sizes=sizes.filter(any), seed=st.integers(0, 99))
def test_rows_are_read_one_by_one_and_together(exact: bool, sizes: list[int], seed: int) -> None:
    matrix = blocks([units(size, 5, seed + at) for at, size in enumerate(sizes)], 5, exact)
    plain = np.asarray(matrix)
    for row in (*range(len(plain)), -1):
        np.testing.assert_array_equal(matrix[row], plain[row])
    some = np.random.default_rng(seed).integers(0, len(plain), 7)
    np.testing.assert_array_equal(matrix[some], plain[some])
    np.testing.assert_array_equal(matrix[1:4], plain[1:4])
    mask = some[0] == np.arange(len(plain))
    np.testing.assert_array_equal(matrix[mask], plain[mask])
    with pytest.raises(IndexError):
        matrix[len(plain)]


@given(rows=st.integers(0, 9), width=st.sampled_from([3, 384, 1536]))
def test_products_of_bytes_are_exact(rows: int, width: int) -> None:
    rng = np.random.default_rng(width + rows)
    left = rng.integers(-LARGEST, LARGEST + 1, (rows, width), dtype=np.int8)
    right = rng.integers(-LARGEST, LARGEST + 1, width, dtype=np.int8)
    left[:1] = right[:] = LARGEST  # the largest sum there can be
    expected = left.astype(np.int64) @ right.astype(np.int64)
    np.testing.assert_array_equal(whole_products(left, right), expected)


def test_all_parts_of_large_work_are_done_once_and_errors_reach_the_caller() -> None:
    done: list[int] = []
    for rows in (1_000_000, 10):
        arrays.for_each(done.append, 7, rows)
    assert sorted(done[:7]) == done[7:] == list(range(7))

    def fail(at: int) -> None:
        raise ValueError(f"at {at}")

    with pytest.raises(ValueError, match="at"):
        arrays.for_each(fail, 7, rows=1_000_000)


def test_two_threads_share_large_work_and_one_that_is_busy_is_not_waited_for() -> None:
    meeting, free = threading.Barrier(3, timeout=30), threading.Event()

    def wait(_: int) -> None:
        meeting.wait()
        free.wait(30)

    busy = threading.Thread(target=arrays.for_each, args=(wait, 2, 1_000_000))
    busy.start()
    meeting.wait()  # both threads of that work are in it
    done: list[int] = []
    arrays.for_each(done.append, 7, rows=1_000_000)
    free.set()
    busy.join(30)
    assert done == list(range(7))


OUTLIVING = """
import threading
from treering import arrays

def work():
    threading.main_thread().join()
    done = []
    arrays.for_each(done.append, 7, rows=1_000_000)
    print(done)

threading.Thread(target=work).start()
"""


def test_a_thread_that_outlives_the_main_one_does_all_parts() -> None:
    process = subprocess.run(
        [sys.executable, "-c", OUTLIVING], capture_output=True, text=True, timeout=60
    )
    assert (process.stdout.strip(), process.stderr) == ("[0, 1, 2, 3, 4, 5, 6]", "")
