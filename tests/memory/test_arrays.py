"""Memory of arrays that goes from one search to the next."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.embedders import HashingEmbedder
from treering import Memory
from treering.arrays import LEAST_BYTES, POOL, Pool, borrow_array

LONG = LEAST_BYTES  # bytes; a shorter array is none of the pool's


def test_memory_is_lent_again_once_nothing_refers_to_its_array() -> None:
    pool = Pool()
    array = pool.lend((LONG,))
    place = array.__array_interface__["data"][0]
    del array
    assert pool.free_bytes() == 4 * LONG
    assert pool.lend((LONG,)).__array_interface__["data"][0] == place


@pytest.mark.parametrize("view", ["part", "column", "shape", "type", "turned"])
def test_an_array_of_which_a_view_is_left_is_not_lent_again(view: str) -> None:
    pool = Pool()
    array = pool.lend((LONG, 2))
    array[:] = 1
    views = {
        "part": array[5:9],
        "column": array[:, 1],
        "shape": array[:4].ravel(order="K"),
        "type": array.view(np.int32),
        "turned": array.T[::-1],
    }
    left = views.pop(view)
    before = left.copy()
    del array, views
    pool.lend((LONG, 2))[:] = 2
    assert np.array_equal(left, before)


def test_an_array_that_is_a_little_longer_gets_the_same_memory() -> None:
    pool = Pool()
    pool.lend((LONG + 1,))
    free = pool.free_bytes()
    pool.lend((LONG + 1000,))
    assert pool.free_bytes() == free


def test_what_is_free_is_bounded_and_what_was_used_last_stays() -> None:
    pool = Pool(most_free=8 * LONG)
    sizes = [(LONG,), (2 * LONG,), (LONG,)]
    arrays = [pool.lend(size) for size in sizes]
    while arrays:
        arrays.pop(0)
    assert pool.free_bytes() <= 8 * LONG
    assert pool.free_bytes() == 4 * LONG


def test_threads_never_get_the_same_memory_at_once() -> None:
    pool = Pool()

    def use(number: int) -> bool:
        arrays = [pool.lend((LONG // 4,), np.int32) for _ in range(3)]
        for at, array in enumerate(arrays):
            array[:] = 10 * number + at
        return all((array == 10 * number + at).all() for at, array in enumerate(arrays))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(200)))


def test_a_memory_that_is_closed_keeps_none_of_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=HashingEmbedder()):
        borrow_array((LONG,))
        assert POOL.free_bytes() >= 4 * LONG
    assert POOL.free_bytes() == 0
