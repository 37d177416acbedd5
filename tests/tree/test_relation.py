from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from treering.arrays import Codes
from treering.search.relations.contract import MISSING, Items
from treering.search.relations.tree import TreeRelation


def items(count: int) -> Items:
    codes = np.zeros(count, dtype=np.int64)
    return Items(
        document=codes,
        position=np.arange(count),
        session=codes,
        speaker=codes,
        at=np.zeros(count),
        vectors=np.zeros((count, 1), dtype=np.float32),
    )


def line(parents: Codes, node: int) -> list[int]:
    above = [node]
    while parents[above[-1]] != MISSING:
        above.append(int(parents[above[-1]]))
    return above


def naive_weights(parents: Codes, nodes: Codes, w: float) -> NDArray[np.float64]:
    """w to the power of the number of steps, pair by pair."""
    weights = np.zeros((len(nodes), len(nodes)))
    for i, a in enumerate(nodes):
        for j, b in enumerate(nodes):
            if MISSING in (a, b):
                continue
            left, right = line(parents, a), line(parents, b)
            common = set(left) & set(right)
            if common:
                steps = sum(len(set(side) - common) for side in (left, right))
                weights[i, j] = w**steps
    return weights


@st.composite
def forests(draw: st.DrawFn) -> tuple[Codes, Codes]:
    """Parents in no particular order of numbers, and the nodes of some items."""
    size = draw(st.integers(1, 25))
    above = [draw(st.integers(MISSING, i - 1)) if i else MISSING for i in range(size)]
    names = draw(st.permutations(range(size)))
    parents = np.full(size, MISSING, dtype=np.int64)
    for i, parent in enumerate(above):
        parents[names[i]] = MISSING if parent == MISSING else names[parent]
    nodes = draw(st.lists(st.integers(MISSING, size - 1), max_size=30))
    return parents, np.array(nodes, dtype=np.int64)


@given(forests(), st.sampled_from([0.1, 0.5, 0.9]), st.integers(1, 3))
def test_the_two_passes_are_the_naive_sum_over_all_pairs(
    forest: tuple[Codes, Codes], w: float, queries: int
) -> None:
    parents, nodes = forest
    operator = TreeRelation(parents, nodes, w).bind(items(len(nodes)))
    weights = naive_weights(parents, nodes, w)
    scores = np.random.default_rng(0).normal(size=(len(nodes), queries)).astype(np.float32)
    assert np.allclose(operator.propagate(scores), weights @ scores, atol=1e-4)
    assert np.allclose(operator.propagate(scores[:, 0]), weights @ scores[:, 0], atol=1e-4)
    assert np.allclose(operator.mass(), weights.sum(axis=1), atol=1e-4)
