"""A tree in order of time: what was last spoken of long ago is not joined any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.tree.growing import Matrix, random_vectors, state
from tests.tree.test_settings import Alike
from treering.errors import InputError
from treering.views.tree.rows import Rows
from treering.views.tree.settings import MICROS_AN_HOUR, Settings
from treering.views.tree.shape import NO_TIME, ROOT, Tree
from treering.views.tree.threshold import Threshold

HOURLY = Settings(Threshold(base=-1.0), gap_hours=1.0)
"""Everything joins something, unless that is too long ago."""

HOUR = MICROS_AN_HOUR
SAME = np.array([1.0, 0.0], dtype=np.float32)


def dated(vectors: Matrix, times: list[int], chosen: Settings = HOURLY) -> Tree:
    tree = Tree(vectors.shape[1], chosen)
    for vector, at in zip(vectors, times, strict=True):
        tree.insert(vector, at)
    return tree


def restored(tree: Tree) -> Tree:
    nodes = list(tree.nodes())
    leaves = [node.number for node in nodes if node.leaf]
    rows = Rows.of(tree.dimension, {leaf: tree.vector(leaf) for leaf in leaves})
    times = {leaf: tree.latest(leaf) for leaf in leaves if tree.latest(leaf) != NO_TIME}
    return Tree.restore(tree.dimension, tree.settings, nodes, rows, bound=tree.bound, times=times)


def test_a_text_after_a_long_gap_begins_a_topic_of_its_own() -> None:
    tree = dated(np.stack([SAME] * 4), [0, HOUR, 3 * HOUR, 4 * HOUR])
    early, late = tree.children(ROOT)
    assert sorted(tree.leaves_below(node) for node in (early, late)) == [2, 2]
    assert (tree.latest(early), tree.latest(late)) == (HOUR, 4 * HOUR)
    assert len(dated(np.stack([SAME] * 4), [0] * 4).children(ROOT)) == 1


def test_within_a_topic_an_old_leaf_is_not_joined_either() -> None:
    tree = dated(np.stack([SAME] * 3), [0, HOUR, 2 * HOUR])
    [topic] = tree.children(ROOT)
    first, second = tree.children(topic)
    assert tree.is_leaf(first)
    assert tree.leaves_below(second) == 2


def test_what_has_no_time_has_no_limit() -> None:
    tree = dated(np.stack([SAME] * 3), [0, NO_TIME, NO_TIME])
    assert len(tree.children(ROOT)) == 1


@given(st.integers(0, 3), st.lists(st.integers(0, 6 * HOUR), min_size=2, max_size=20), st.data())
def test_no_leaf_joins_what_is_older_by_more_than_the_gap_and_a_restored_tree_agrees(
    seed: int, times: list[int], data: st.DataObject
) -> None:
    times.sort()
    tree = dated(random_vectors(len(times), seed=seed), times)
    for topic in tree.children(ROOT):
        said = sorted(tree.latest(leaf) for leaf in tree.leaves(topic))
        assert all(later - earlier <= HOUR for earlier, later in pairwise(said))
    for leaf in data.draw(st.lists(st.sampled_from(sorted(tree.leaves())), unique=True)):
        tree.remove(leaf)
    again = restored(tree)
    later = random_vectors(1, seed=seed + 9)[0]
    for grown in (tree, again):
        grown.insert(later, times[-1] + HOUR // 2)
    assert state(again) == state(tree)


def test_a_memory_keeps_the_gap_and_goes_by_it_when_it_is_opened_again(
    open_memory: Open, tmp_path: Path
) -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    memory = open_memory(tmp_path / "m.db", embedder=Alike())
    memory.tree.replant(gap_hours=24)
    for days in (0, 0.5, 9):
        said = begin + timedelta(days=days)
        memory.add(f"A boat after {days} days.", source=f"{days}", kind="text", at=said)
    assert len(memory.tree.roots()) == 2
    memory.close()
    memory = open_memory(tmp_path / "m.db", embedder=Alike())
    assert memory.tree.settings().gap_hours == 24
    for days in (9.5, 20):
        said = begin + timedelta(days=days)
        memory.add(f"A boat after {days} days.", source=f"{days}", kind="text", at=said)
    assert [node.leaves for node in memory.tree.roots()] == [2, 2, 1]
    memory.tree.replant(gap_hours=0)
    assert len(memory.tree.roots()) == 1


@pytest.mark.parametrize("hours", [-1.0, 1e300, float("nan"), float("inf")])
def test_a_gap_that_means_nothing_is_refused(hours: float) -> None:
    with pytest.raises(InputError, match="gap_hours is"):
        Settings(gap_hours=hours)
