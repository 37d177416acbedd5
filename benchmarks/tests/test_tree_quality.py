from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from test_suites import NEWS
from tests.tree.growing import Matrix, clustered, grown, random_vectors, settings
from treering.views.tree.shape import ROOT, Tree
from treering_bench.registry import Benchmark, benchmark
from treering_bench.trees.quality import apart, odd_one_out, otd_revenue, revenue, separation
from treering_bench.trees.shape import tree_shapes
from worlds import BagOfWords, Bench, lines, write


def similarities(vectors: Matrix) -> NDArray[np.float64]:
    exact = vectors.astype(np.float64)
    return (1 + exact @ exact.T) / 2


def naive_revenue(tree: Tree) -> float:
    """Definition 1, word for word."""
    leaves = list(tree.leaves())
    weights = similarities(np.stack([tree.vector(leaf) for leaf in leaves]))
    total = 0.0
    for i, j in itertools.combinations(range(len(leaves)), 2):
        left, right = (ROOT, *tree.path(leaves[i])), (ROOT, *tree.path(leaves[j]))
        lca = [a for a, b in zip(left, right, strict=False) if a == b][-1]
        total += weights[i, j] * (len(leaves) - len(list(tree.leaves(lca))))
    return total


def best_revenue(vectors: Matrix) -> float:
    """Of all binary hierarchies, by trying every split of every subset."""
    weights, n = similarities(vectors), len(vectors)

    @cache
    def best(members: int) -> float:
        size = members.bit_count()
        if size < 2:
            return 0.0
        top = 0.0
        part = (members - 1) & members
        while part:
            rest = members ^ part
            if part < rest:
                ours = [i for i in range(n) if part >> i & 1]
                theirs = [i for i in range(n) if rest >> i & 1]
                joined = float(weights[np.ix_(ours, theirs)].sum()) * (n - size)
                top = max(top, joined + best(part) + best(rest))
            part = (part - 1) & members
        return top

    return best((1 << n) - 1)


PLACES = ("Porto", "Lima", "Oslo", "Bern", "Riga")
SENTENCES = [f"{who} saw {place}." for who in ("Ana", "Ben", "Eva", "Tom") for place in PLACES]


@given(st.integers(0, 10_000), st.integers(1, 25), st.sampled_from([-1.0, 0.1, 0.4]))
def test_the_fast_revenue_is_the_naive_one(seed: int, count: int, base: float) -> None:
    tree = grown(random_vectors(count, seed=seed), settings(base))
    assert revenue(tree) == pytest.approx(naive_revenue(tree), rel=1e-5, abs=1e-5)


def test_the_revenue_of_three_leaves_by_hand() -> None:
    # a and b point the same way and are joined; c is orthogonal: w(a, b) = 1, saved once.
    vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    tree = grown(vectors, settings(0.5))
    assert revenue(tree) == pytest.approx(1.0)
    assert otd_revenue(vectors[[0, 2, 1]]) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("clusters", "each"), [(2, 4), (3, 3), (4, 2)])
def test_on_separated_data_the_revenue_is_beta_thirds_of_the_best(
    clusters: int, each: int, seed: int
) -> None:
    vectors = clustered(clusters, each, spread=0.4, seed=seed)
    tree = grown(vectors)
    beta = separation(tree).least
    assert 0 < beta <= 1
    assert revenue(tree) >= beta / 3 * best_revenue(vectors)


@pytest.mark.parametrize("seed", range(4))
def test_otd_never_beats_the_best_hierarchy(seed: int) -> None:
    vectors = clustered(3, 3, spread=0.6, seed=seed)
    assert otd_revenue(vectors) <= best_revenue(vectors) + 1e-6


def test_beta_is_lower_for_data_that_blur_into_each_other() -> None:
    apart = separation(grown(clustered(4, 30, spread=0.3, seed=1), settings(0.3)))
    blurred = separation(grown(random_vectors(120, dimension=32, seed=1), settings(0.1)))
    assert apart.cases
    assert blurred.low < apart.low


def test_without_any_case_there_is_nothing_against_beta_one() -> None:
    assert separation(grown(random_vectors(2))).least == 1.0


@given(st.integers(0, 1000), st.integers(2, 25), st.sampled_from([-1.0, 0.1, 0.4]))
def test_what_is_apart_is_the_similarity_of_leaves_that_meet_only_at_the_root(
    seed: int, count: int, base: float
) -> None:
    tree = grown(random_vectors(count, seed=seed), settings(base))
    leaves = list(tree.leaves())
    weights = similarities(np.stack([tree.vector(leaf) for leaf in leaves]))
    pairs = list(itertools.combinations(range(count), 2))
    topic = [(*tree.path(leaf), leaf)[0] for leaf in leaves]
    between = sum(weights[i, j] for i, j in pairs if topic[i] != topic[j])
    assert apart(tree) == pytest.approx(between / sum(weights[i, j] for i, j in pairs), abs=1e-5)


def test_what_a_summary_shares_with_its_descendant_does_not_answer_the_question() -> None:
    """Two topics of two texts, whose first texts are more alike than those of one topic.

    Of the eight questions there are, two cannot be told by the texts that are left; with the
    descendant among the summary's texts all eight would be right.
    """
    likeness = np.array([[1, 0.45, 0.6, 0], [0.45, 1, 0.1, 0], [0.6, 0.1, 1, 0.5], [0, 0, 0.5, 1]])
    vectors: Matrix = np.zeros((4, 64), dtype=np.float32)
    vectors[:, :4] = np.linalg.cholesky(likeness)
    tree = grown(vectors)
    assert [len(list(tree.leaves(topic))) for topic in tree.children(ROOT)] == [2, 2]
    judged = odd_one_out(tree)
    assert judged.easy_asked == 500
    assert judged.easy == pytest.approx(0.75, abs=0.06)


def test_topics_that_are_apart_are_told_apart() -> None:
    judged = odd_one_out(grown(clustered(6, 20, spread=0.3, seed=5)))
    assert judged.easy_asked > 100
    assert judged.easy > 0.99


def test_a_tree_without_a_summary_asks_nothing() -> None:
    judged = odd_one_out(grown(random_vectors(3), settings(0.99)))
    assert (judged.easy_asked, judged.hard_asked) == (0, 0)
    assert np.isnan(judged.easy)


def test_a_deep_threshold_gives_one_topic_a_text(tmp_path: Path) -> None:
    facts = [{**NEWS, "fact_id": text, "fact": text} for text in SENTENCES]
    write(tmp_path / "facts.jsonl", lines(*facts))
    write(tmp_path / "queries.jsonl", "")
    multihop = benchmark("multihop-rag")
    assert isinstance(multihop, Benchmark)
    shapes = list(tree_shapes(multihop, tmp_path, 20, BagOfWords(), ("leaves", "content"), 5))
    assert [(s.base, s.route) for s in shapes][:2] == [(0.1, "leaves"), (0.1, "content")]
    assert shapes[0].topics <= shapes[-1].topics
    assert all(shape.merged <= shape.path for shape in shapes)


def test_a_shape_needs_two_texts(bench: Bench, tmp_path: Path) -> None:
    asked = {"A": "", "B": ""}
    row = {"previous_dialogs": [], "dialog": [{"text": "Hi"}], "self_instruct": asked}
    write(tmp_path / "msc.jsonl", lines(row))
    result = bench("tree", "msc", "--data", tmp_path)
    assert result.exit_code == 2
    assert "holds 1 texts" in result.stderr
