from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tree.growing import grown, random_vectors, settings, state
from treering.search.vectors import StackedMatrix
from treering.views.tree.family import Rows, Vector
from treering.views.tree.shape import Tree

steps = st.lists(
    st.tuples(st.sampled_from(["set", "drop", "share"]), st.integers(0, 30)), max_size=40
)


@given(steps)
def test_rows_are_as_a_dictionary_of_vectors_wherever_these_lie(
    steps: list[tuple[str, int]],
) -> None:
    rows, known = Rows(3), dict[int, Vector]()
    for number, (step, node) in enumerate(steps):
        if step == "set":
            rows[node] = known[node] = np.full(3, number, dtype=np.float32)
        elif step == "drop" and node in known:
            del rows[node], known[node]
        elif step == "share":
            nodes = sorted(known, reverse=True)[: node % 5]
            matrix = np.zeros((len(nodes), 3), dtype=np.float32)
            for place, one in enumerate(nodes):
                matrix[place] = known[one]
            rows.share(matrix, {one: place for place, one in enumerate(nodes)})
        assert {node for node in range(31) if node in rows} == known.keys()
        for node, vector in known.items():
            assert (rows[node] == vector).all()
        together = rows.together(sorted(known))
        assert together.tolist() == [known[node].tolist() for node in sorted(known)]


def test_what_is_shared_takes_no_room() -> None:
    vectors = random_vectors(8)
    rows = Rows(vectors.shape[1])
    for node, vector in enumerate(vectors):
        rows[node] = vector
    rows.share(vectors, {node: node for node in range(8)})
    assert all(np.shares_memory(rows[node], vectors) for node in range(8))
    rows[5] = vectors[6]
    assert not np.shares_memory(rows[5], vectors)
    assert (rows[5] == rows[6]).all()


@pytest.mark.parametrize("base", [-1.0, 0.0, 0.4, 1.0])
def test_a_tree_that_shares_its_vectors_grows_and_shrinks_as_one_that_holds_them(
    base: float,
) -> None:
    vectors = random_vectors(200, seed=1)
    apart, sharing = grown(vectors[:150], settings(base)), grown(vectors[:150], settings(base))
    leaves = sorted(sharing.leaves())
    for step, vector in enumerate(vectors[150:]):
        if step % 10 == 0:
            standing = sorted(sharing.leaves())
            matrix = np.stack([sharing.vector(leaf) for leaf in standing])
            sharing.rows.share(matrix, {leaf: row for row, leaf in enumerate(standing)})
        for tree in (apart, sharing):
            tree.insert(vector)
            tree.remove(leaves[2 * step])
    assert state(apart) == state(sharing)


def test_vectors_in_two_matrices_read_as_one() -> None:
    upper, lower = random_vectors(5), random_vectors(3, seed=2)
    stacked, whole = StackedMatrix(upper, lower), np.concatenate([upper, lower])
    assert len(stacked) == 8
    assert stacked.shape == whole.shape
    assert (np.asarray(stacked) == whole).all()
    for row in range(8):
        assert (stacked[row] == whole[row]).all()
    for first in range(9):
        for last in range(9):
            assert (stacked[first:last] == whole[first:last]).all()
    assert stacked @ whole[0] == pytest.approx(whole @ whole[0])
    assert stacked @ whole.T == pytest.approx(whole @ whole.T)


def test_the_exact_sums_of_few_and_of_many_leaves_agree() -> None:
    tree: Tree = grown(random_vectors(60, seed=3), settings(0.1))
    for node in [0, *tree.summaries()]:
        below = sum(tree.total(leaf) for leaf in tree.leaves(node))
        assert (tree.total(node) == below).all()
