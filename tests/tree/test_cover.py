from __future__ import annotations

from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.tree.growing import grown, random_vectors, settings, unit_rows
from treering.views.tree.cover import candidates, cover
from treering.views.tree.shape import ROOT, Tree


def one_topic(leaves: int) -> Tree:
    rows = unit_rows(np.eye(8)[0] + 0.2 * random_vectors(leaves).astype(np.float64))
    return grown(rows, settings(-1.0, max_depth=2))


def words_of(tree: Tree, share: float = 0.5) -> dict[int, frozenset[int]]:
    """Ten words for each leaf, of which a summary has that share."""
    words = {leaf: frozenset(range(10 * leaf, 10 * leaf + 10)) for leaf in tree.leaves()}
    held = int(10 * share)
    for node in tree.summaries():
        below = (sorted(words[leaf])[:held] for leaf in tree.leaves(node))
        words[node] = frozenset(chain(*below))
    return words


def above(tree: Tree) -> dict[int, tuple[int, ...]]:
    return {leaf: tree.path(leaf) for leaf in tree.leaves()}


def test_a_broad_question_gets_the_summary_and_none_of_its_leaves() -> None:
    tree = one_topic(6)
    relevance = dict.fromkeys(tree.leaves(), 1.0)
    tokens = {node: 10 for node in tree.walk() if node != ROOT}
    chosen = candidates(relevance, above(tree), tokens, words_of(tree, 0.6))
    assert cover(chosen, 30) == tree.summaries()


def test_a_summary_that_says_too_little_of_its_leaves_is_not_shown() -> None:
    tree = one_topic(6)
    relevance = dict.fromkeys(tree.leaves(), 1.0)
    tokens = {node: 10 for node in tree.walk() if node != ROOT}
    chosen = candidates(relevance, above(tree), tokens, words_of(tree, 0.3))
    assert cover(chosen, 30) == list(tree.leaves())[:3]


@given(st.integers(0, 200), st.integers(2, 20), st.integers(10, 200))
def test_what_is_shown_covers_no_less_than_the_best_texts_that_fit(
    seed: int, count: int, budget: int
) -> None:
    tree = grown(random_vectors(count, seed=seed), settings(0.1))
    rng = np.random.default_rng(seed)
    tokens = {node: int(rng.integers(1, 40)) for node in tree.walk() if node != ROOT}
    drawn = sorted(((float(rng.random()), leaf) for leaf in tree.leaves()), reverse=True)
    relevance = {leaf: weight for weight, leaf in drawn}
    words = words_of(tree)
    taken = cover(candidates(relevance, above(tree), tokens, words), budget)
    plain, left = [], budget
    for leaf in relevance:
        if tokens[leaf] <= left:
            plain.append(leaf)
            left -= tokens[leaf]

    def covered(nodes: list[int]) -> float:
        shares = {leaf: [len(words[leaf] & words[n]) / 10 for n in nodes] for leaf in relevance}
        return sum(weight * max(shares[leaf], default=0) for leaf, weight in relevance.items())

    if any(not tree.is_leaf(node) for node in taken):
        assert covered(taken) > covered(plain)
    else:
        assert taken == plain


def test_where_all_its_leaves_fit_these_are_shown_instead_of_a_summary() -> None:
    tree = one_topic(6)
    relevance = dict.fromkeys(tree.leaves(), 1.0)
    tokens = {node: 10 if tree.is_leaf(node) else 3 for node in tree.walk() if node != ROOT}
    chosen = candidates(relevance, above(tree), tokens, words_of(tree))
    assert sorted(cover(chosen, 60)) == sorted(tree.leaves())
    assert cover(chosen, 9) == tree.summaries()


def test_a_narrow_question_gets_its_leaf() -> None:
    tree = one_topic(6)
    wanted = next(tree.leaves())
    tokens = {node: 10 if tree.is_leaf(node) else 40 for node in tree.walk() if node != ROOT}
    relevance = {leaf: 5.0 if leaf == wanted else 0.1 for leaf in tree.leaves()}
    chosen = candidates(relevance, above(tree), tokens, words_of(tree))
    assert cover(chosen, 40)[0] == wanted


@given(st.integers(0, 1000), st.integers(1, 30), st.integers(1, 120))
def test_no_node_is_shown_with_one_above_it_and_the_budget_holds(
    seed: int, count: int, budget: int
) -> None:
    tree = grown(random_vectors(count, seed=seed), settings(0.1))
    rng = np.random.default_rng(seed)
    tokens = {node: int(rng.integers(1, 40)) for node in tree.walk() if node != ROOT}
    relevance = {leaf: float(rng.random()) for leaf in tree.leaves()}
    taken = cover(candidates(relevance, above(tree), tokens, words_of(tree)), budget)
    assert sum(tokens[node] for node in taken) <= budget
    assert all(set(tree.path(node)).isdisjoint(taken) for node in taken)
