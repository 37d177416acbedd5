"""Every relation's operator equals its formula, written out over all pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from treering.arrays import Codes, Floats
from treering.errors import InputError
from treering.search.relations.contract import (
    MISSING,
    Items,
    Labels,
    Operator,
    Relation,
    Relations,
    is_local,
)
from treering.search.relations.decay import FAR, ContextRelation, Time
from treering.search.relations.group import Agents, Citation, Same, Session, Speaker
from treering.search.relations.semantic import Semantic

Matrix = NDArray[np.float64]
Formula = Callable[[Items], Matrix]
MAX_ITEMS = 24
DIMENSION = 5


@st.composite
def spaces(draw: st.DrawFn) -> Items:
    """Items in any order: several documents, gaps in positions, missing codes and times."""
    size = draw(st.integers(0, MAX_ITEMS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    document = rng.integers(MISSING, 3, size)
    vectors = rng.normal(size=(size, DIMENSION))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[rng.random(size) < 0.2] = 0  # not embedded yet
    at = rng.choice(1.7e9 + rng.integers(0, 400_000, max(size, 1)), size)  # some times coincide
    at[rng.random(size) < 0.25] = np.nan
    citing = rng.integers(0, size, 2 * size) if size else np.zeros(0, dtype=np.int64)
    return Items(
        document=document,
        position=rng.permutation(3 * size)[:size],
        session=rng.integers(MISSING, 3, size),
        speaker=rng.integers(MISSING, 3, size),
        at=at,
        vectors=vectors.astype(np.float32),
        stored=Kept(
            {"ticket": rng.integers(MISSING, 4, size)},
            np.stack([citing, rng.integers(MISSING, 5, len(citing))]),
        ),
    )


@dataclass(frozen=True)
class Kept:
    """Stored columns as they are given; some citations are of no document that is there."""

    by_key: dict[str, Labels]
    pairs: Codes

    def values(self, key: str) -> Labels:
        return self.by_key[key]

    def citations(self) -> tuple[Codes, Codes]:
        citing, cited = self.pairs
        return citing, cited


def context(w: float, within: str) -> Formula:
    """Eq. 7; within a session, a pair counts if no session border lies between the two."""

    def formula(items: Items) -> Matrix:
        size = len(items)
        result = np.zeros((size, size))
        for i in range(size):
            for j in range(size):
                if items.document[i] != items.document[j] or items.document[i] == MISSING:
                    continue
                low, high = sorted((items.position[i], items.position[j]))
                between = (
                    (items.document == items.document[i])
                    & (items.position >= low)
                    & (items.position <= high)
                )
                if within == "document" or len(set(items.session[between])) == 1:
                    result[i, j] = w ** int(high - low)
        return result

    return formula


def time(tau: float) -> Formula:
    def formula(items: Items) -> Matrix:
        gap = np.abs(items.at[:, None] - items.at[None, :])
        return np.where(np.isnan(gap), 0, np.exp(-np.nan_to_num(gap) / tau))

    return formula


def same(column: str) -> Formula:
    def formula(items: Items) -> Matrix:
        codes = getattr(items, column)
        known = codes != MISSING
        equal: Matrix = ((codes[:, None] == codes[None, :]) & known[:, None]).astype(np.float64)
        return equal

    return formula


def same_ticket(items: Items) -> Matrix:
    assert items.stored is not None
    codes = items.stored.values("ticket")
    equal: Matrix = ((codes[:, None] == codes) & (codes != MISSING)).astype(np.float64)
    return equal


def agents(items: Items) -> Matrix:
    size = len(items)
    result = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            known = MISSING not in (items.session[i], items.speaker[i], items.speaker[j])
            one_task = items.session[i] == items.session[j]
            result[i, j] = known and one_task and items.speaker[i] != items.speaker[j]
    return result


def cites(items: Items) -> Matrix:
    """1 for each direction in which two items of different documents cite each other."""
    assert items.stored is not None
    result = np.zeros((len(items), len(items)))
    for item, document in set(zip(*map(np.ndarray.tolist, items.stored.citations()), strict=True)):
        for other in range(len(items)):
            if MISSING != document == items.document[other] != items.document[item]:
                result[item, other] += 1
                result[other, item] += 1
    return result


def semantic(form: str) -> Formula:
    def formula(items: Items) -> Matrix:
        vectors = np.asarray(items.vectors, dtype=np.float64)
        cosine: Matrix = vectors @ vectors.T
        return 1 - cosine if form == "printed" else (1 + cosine) / 2

    return formula


CASES = [
    *(
        pytest.param(
            ContextRelation(w, within), context(w, within), id=f"context {w} within {within}"
        )
        for w in (0.0, 0.3, 0.8, 0.99)
        for within in ("document", "session")
    ),
    *(pytest.param(Time(tau), time(tau), id=f"time {tau}") for tau in (60.0, 86_400.0)),
    pytest.param(Session(), same("session"), id="session"),
    pytest.param(Speaker(), same("speaker"), id="speaker"),
    pytest.param(Same("ticket"), same_ticket, id="same"),
    pytest.param(Agents(), agents, id="agents"),
    pytest.param(Citation(), cites, id="cites"),
    *(
        pytest.param(Semantic(form), semantic(form), id=f"semantic {form}")
        for form in ("similarity", "printed")
    ),
]


def assert_close(found: Floats, expected: Matrix, scale: float) -> None:
    assert found.dtype == np.float32
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * scale)


def scores_of(size: int, columns: int, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(size, columns)).astype(np.float32)
    return np.asfortranarray(scores)


@pytest.mark.parametrize(("relation", "formula"), CASES)
@given(items=spaces(), columns=st.sampled_from([1, 3, 9]), seed=st.integers(0, 99))
def test_an_operator_equals_its_formula_for_one_query_and_for_many(
    relation: Relation, formula: Formula, items: Items, columns: int, seed: int
) -> None:
    operator: Operator = relation.bind(items)
    matrix = formula(items)
    scores = scores_of(len(items), columns, seed)
    scale = float(np.abs(scores).sum(axis=0).max(initial=1.0))
    expected = matrix @ scores.astype(np.float64)
    assert_close(operator.mass(), matrix.sum(axis=1), max(len(items), 1))
    assert_close(operator.propagate(scores), expected, scale)
    for column in range(columns):
        assert_close(operator.propagate(scores[:, column]), expected[:, column], scale)


LOCAL = [
    pytest.param(ContextRelation(0.8), context(0.8, "document"), id="context"),
    pytest.param(Time(86_400.0), time(86_400.0), id="time"),
]


@pytest.mark.parametrize(("relation", "formula"), LOCAL)
@given(items=spaces(), seed=st.integers(0, 99))
def test_what_a_few_items_pass_on_is_theirs_of_the_formula(
    relation: Relation, formula: Formula, items: Items, seed: int
) -> None:
    operator = relation.bind(items)
    assert is_local(operator)
    matrix = formula(items)
    few = np.flatnonzero(np.random.default_rng(seed).random(len(items)) < 0.3)
    near = operator.near(few, 0.02)
    clear = np.abs(matrix[few] - 0.02) > 1e-4  # else rounding tells
    reached = ((matrix[few] > 0.02) & clear).any(axis=0)
    assert set(few) | set(np.flatnonzero(reached)) <= set(near)
    possible = ((matrix[few] > 0.02) | ~clear).any(axis=0)
    assert set(near) <= set(few) | set(np.flatnonzero(possible))
    scores = scores_of(len(near), 1, seed)[:, 0]
    expected = matrix[np.ix_(near, near)] @ scores.astype(np.float64)
    np.testing.assert_allclose(operator.among(near, scores), expected, rtol=1e-4, atol=1e-4)


def test_items_of_one_time_do_not_all_count_as_near() -> None:
    size = 4_000
    codes = np.zeros(size, dtype=np.int64)
    nothing = np.zeros((size, 0), dtype=np.float32)
    items = Items(codes, np.arange(size), codes, codes, np.zeros(size), nothing)
    operator = Time().bind(items)
    assert is_local(operator)
    middle = size // 2
    near = operator.near(np.array([middle]), 0.02)
    assert near.tolist() == list(range(middle - FAR, middle + FAR + 1))


@pytest.mark.parametrize(("relation", "formula"), CASES)
@given(items=spaces(), seed=st.integers(0, 99))
def test_the_environment_is_the_weighted_mean_and_zero_where_nothing_is_related(
    relation: Relation, formula: Formula, items: Items, seed: int
) -> None:
    scores = scores_of(len(items), 2, seed)
    before = scores.copy()
    env = Relations().environment(relation, items, version=1, own=scores)
    matrix = formula(items)
    mass = matrix.sum(axis=1)
    related = mass > 1e-6 * max(len(items), 1)
    expected = np.zeros(scores.shape)
    expected[related] = (matrix @ scores.astype(np.float64))[related] / mass[related, None]
    np.testing.assert_allclose(env, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(scores, before)


@pytest.mark.parametrize("form", ["similarity", "printed"])
@given(size=st.sampled_from([1, 2, 3, 1_000]), seed=st.integers(0, 99))
@example(size=2, seed=39)
def test_the_semantic_environment_of_equal_texts_stays_within_their_scores(
    form: str, size: int, seed: int
) -> None:
    """By the printed form equal texts are not related at all; rounding must not relate them."""
    vector = np.random.default_rng(seed).normal(size=384)
    vectors = np.tile((vector / np.linalg.norm(vector)).astype(np.float32), (size, 1))
    codes = np.zeros(size, dtype=np.int64)
    items = Items(codes, np.arange(size), codes, codes, np.zeros(size), vectors)
    scores = scores_of(size, 1, seed)
    env = Relations().environment(Semantic(form), items, version=1, own=scores)
    assert np.abs(env).max() <= np.abs(scores).max() + 1e-5


def test_a_worked_example_of_the_context_relation() -> None:
    """Three fragments of one document, one of another; w = 0.5, scores 8, 0, 4 and 1."""
    items = Items(
        document=np.array([0, 0, 0, 1]),
        position=np.array([0, 1, 2, 0]),
        session=np.full(4, MISSING),
        speaker=np.full(4, MISSING),
        at=np.full(4, np.nan),
        vectors=np.zeros((4, 0), dtype=np.float32),
    )
    own = np.array([8, 0, 4, 1], dtype=np.float32)
    operator = ContextRelation(w=0.5).bind(items)
    np.testing.assert_allclose(operator.propagate(own), [9, 6, 6, 1])
    np.testing.assert_allclose(operator.mass(), [1.75, 2, 1.75, 1])


def test_parameters_that_make_no_weights_are_refused() -> None:
    cases: list[Callable[[], object]] = [
        lambda: ContextRelation(w=1.0),
        lambda: ContextRelation(w=-0.1),
        lambda: ContextRelation(w=float("nan")),
        lambda: ContextRelation(within="paragraph"),
        lambda: Time(tau=0),
        lambda: Time(tau=float("nan")),
        lambda: Semantic(form="euclidean"),
    ]
    for make in cases:
        with pytest.raises(InputError, match=r"it (must|can) be"):
            make()
