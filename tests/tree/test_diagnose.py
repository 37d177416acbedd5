"""The odd-one-out test asks what the tree does not answer by itself."""

import numpy as np
import pytest

from treering.arrays import Floats
from treering.views.tree.diagnose import odd_one_out
from treering.views.tree.settings import Settings
from treering.views.tree.shape import ROOT, Tree
from treering.views.tree.threshold import Threshold

DIMENSION = 64


def grown(vectors: Floats, base: float) -> Tree:
    tree = Tree(DIMENSION, Settings(Threshold(base=base)))
    for vector in vectors:
        tree.insert(vector)
    return tree


def unit(vectors: Floats) -> Floats:
    units: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return units


def noise(count: int) -> Floats:
    drawn: Floats = np.random.default_rng(5).normal(size=(count, DIMENSION)).astype(np.float32)
    return unit(drawn)


def test_what_a_summary_shares_with_its_descendant_does_not_answer_the_question() -> None:
    """Two topics of two texts, whose first texts are more alike than those of one topic.

    Of the eight questions there are, two cannot be told by the texts that are left; with the
    descendant among the summary's texts all eight would be right.
    """
    likeness = np.array([[1, 0.45, 0.6, 0], [0.45, 1, 0.1, 0], [0.6, 0.1, 1, 0.5], [0, 0, 0.5, 1]])
    vectors: Floats = np.zeros((4, DIMENSION), dtype=np.float32)
    vectors[:, :4] = np.linalg.cholesky(likeness)
    tree = grown(vectors, base=0.4)
    assert [len(list(tree.leaves(topic))) for topic in tree.children(ROOT)] == [2, 2]
    judged = odd_one_out(tree)
    assert judged.easy_asked == 500
    assert judged.easy == pytest.approx(0.75, abs=0.06)


def test_topics_that_are_apart_are_told_apart() -> None:
    centres = noise(6)
    vectors = unit(np.repeat(centres, 20, axis=0) + 0.3 * noise(120))
    judged = odd_one_out(grown(vectors, base=0.4))
    assert judged.easy_asked > 100
    assert judged.easy > 0.99


def test_a_tree_without_a_summary_asks_nothing() -> None:
    judged = odd_one_out(grown(noise(3), base=0.99))
    assert (judged.easy_asked, judged.hard_asked) == (0, 0)
    assert np.isnan(judged.easy)
