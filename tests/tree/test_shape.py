from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tree.growing import grown, random_vectors, restored, settings, state, unit_rows
from treering.errors import UnknownName, UnknownNode
from treering.views.choices import SpaceSettings, TreeForm
from treering.views.tree.shape import ROOT, Tree, threshold

SEEDS = st.integers(0, 10_000)
COUNTS = st.integers(1, 60)
BASES = st.sampled_from([-1.0, 0.0, 0.2, 0.5, 0.9])


def plane(*degrees: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Unit vectors in the plane, so that cosines can be worked out by hand."""
    angles = np.radians(degrees)
    return unit_rows(np.stack([np.cos(angles), np.sin(angles)], axis=1))


def test_the_threshold_rises_from_its_base_to_e_to_the_rate_times_its_base() -> None:
    chosen = settings(0.4, max_depth=10)
    assert threshold(chosen, 0) == 0.4
    assert threshold(chosen, 5) == pytest.approx(0.4 * math.exp(0.25))
    assert threshold(chosen, 10) == pytest.approx(0.4 * math.exp(0.5))


def test_the_threshold_as_printed_in_the_main_text_passes_one_at_depth_two() -> None:
    printed = SpaceSettings(tree_form="printed")
    assert threshold(printed, 1) == pytest.approx(0.4 * math.exp(0.5))
    assert threshold(printed, 2) > 1.0


def test_a_similar_text_expands_the_leaf_it_meets_and_a_stranger_starts_a_topic() -> None:
    a, b, far = plane(0, 30, 120)
    tree = Tree(2, settings(0.5))
    first = tree.insert(a)
    second = tree.insert(b)
    third = tree.insert(far)
    assert (first.path, first.split) == ((), None)
    assert second.split is not None
    assert second.sibling == first.leaf
    assert second.path == (second.split,)
    assert tree.children(second.split) == [first.leaf, second.leaf]
    assert third.path == ()
    assert tree.children(ROOT) == [second.split, third.leaf]


def test_a_newcomer_below_the_threshold_of_all_children_becomes_their_sibling() -> None:
    # θ(0) = 0.5 (60°), θ(1) = 0.5·e^0.5 = 0.82 (34.5°). The topic of 0° and 30° points to 15°.
    tree = Tree(2, settings(0.5, rate=0.5, max_depth=1 + 1))
    tree.insert(plane(0)[0])
    topic = tree.insert(plane(30)[0]).split
    assert topic is not None
    inserted = tree.insert(plane(68)[0])  # 53° from the topic, 38° from its nearest leaf
    assert threshold(tree.settings, 1) == pytest.approx(0.642, abs=0.001)
    assert inserted.path[0] == topic


def test_no_node_is_deeper_than_max_depth() -> None:
    same = np.repeat(random_vectors(1), 50, axis=0)
    tree = grown(same, settings(0.4, max_depth=4))
    assert max(tree.depth(node) for node in tree.leaves()) == 4


@given(SEEDS, COUNTS, BASES)
def test_every_vector_is_a_leaf_and_every_summary_has_at_least_two_children(
    seed: int, count: int, base: float
) -> None:
    tree = grown(random_vectors(count, seed=seed), settings(base))
    assert tree.leaf_count == count == len(list(tree.leaves()))
    assert all(len(tree.children(node)) >= 2 for node in tree.summaries())
    assert all(node in tree.children(tree.parent(node)) for node in tree.walk() if node != ROOT)
    assert len(tree) == count + len(tree.summaries())


@given(SEEDS, COUNTS, BASES, st.data())
def test_interrupted_and_resumed_at_any_point_the_same_tree_grows(
    seed: int, count: int, base: float, data: st.DataObject
) -> None:
    vectors = random_vectors(count, seed=seed)
    tree = Tree(vectors.shape[1], settings(base))
    stops = data.draw(st.sets(st.integers(0, count)))
    for index, vector in enumerate(vectors):
        if index in stops:
            tree = restored(tree)
        tree.insert(vector)
    assert state(tree) == state(grown(vectors, settings(base)))


@given(SEEDS, COUNTS, BASES, st.data())
def test_what_is_left_after_removals_has_no_lone_children_and_the_means_of_its_leaves(
    seed: int, count: int, base: float, data: st.DataObject
) -> None:
    tree = grown(random_vectors(count, seed=seed), settings(base))
    for leaf in data.draw(st.lists(st.sampled_from(sorted(tree.leaves())), unique=True)):
        path = tree.path(leaf)
        removed = tree.remove(leaf)
        gone = {leaf, removed.dissolved}
        assert set(removed.path) == set(path) - gone
        assert not any(node in tree for node in gone if node is not None)
    assert all(len(tree.children(node)) >= 2 for node in tree.summaries())
    assert state(tree) == state(restored(tree))
    for node in tree.summaries():
        below = [tree.vector(leaf) for leaf in tree.leaves(node)]
        assert tree.leaves_below(node) == len(below)
        assert np.allclose(tree.vector(node), np.mean(below, axis=0), atol=1e-6)


def test_by_content_an_insert_follows_the_summary_and_by_leaves_it_does_not() -> None:
    vectors = plane(0, 30)
    probe = plane(100)[0]
    by_content = grown(vectors, settings(0.5, route="content"))
    by_leaves = grown(vectors, settings(0.5))
    for tree in (by_content, by_leaves):
        tree.set_content(tree.summaries()[0], probe)
    assert by_content.insert(probe).path != ()
    assert by_leaves.insert(probe).path == ()


def test_a_removal_stops_inserts_from_following_a_summary_of_what_is_gone() -> None:
    tree = grown(plane(0, 20, 40), settings(-1.0, max_depth=2, route="content"))
    topic = tree.summaries()[0]
    tree.set_content(topic, plane(170)[0])
    tree.remove(list(tree.leaves())[-1])
    assert np.allclose(tree.vector(topic), plane(0, 20).mean(axis=0), atol=1e-6)


def test_numbers_are_never_given_twice() -> None:
    tree = grown(random_vectors(5))
    last = tree.bound - 1
    for leaf in list(tree.leaves()):
        tree.remove(leaf)
    assert tree.insert(random_vectors(1)[0]).leaf > last


def test_a_summary_cannot_be_removed_like_a_text_nor_a_text_be_given_a_summary() -> None:
    tree = grown(plane(0, 10), settings(0.0))
    topic = tree.summaries()[0]
    with pytest.raises(UnknownName, match="only leaves"):
        tree.remove(topic)
    with pytest.raises(UnknownName, match="not a summary"):
        tree.set_content(tree.children(topic)[0], plane(0)[0])
    with pytest.raises(UnknownNode):
        tree.children(99)


@pytest.mark.parametrize("form", ["scaled", "current", "printed"])
def test_the_strictest_threshold_that_is_allowed_can_be_computed(form: TreeForm) -> None:
    steep = SpaceSettings(tree_base=1, tree_rate=10, tree_depth=1000, tree_form=form)
    assert threshold(steep, 1000, deepest=1000) > 1
