"""The one line of treering: score = own + Σ α·env, by kind of content."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.errors import InputError, UnknownName
from treering.journal.space import SpaceState
from treering.records import KINDS, Filter
from treering.search.lexical import Lexical
from treering.search.pipeline import EnvironmentTerm, contributions, signals_by_stage
from treering.search.ranking import Ranking, Stage
from treering.search.relations.contract import (
    Items,
    Plan,
    Relation,
    Relations,
    Weighted,
    is_relation,
)
from treering.search.relations.decay import ContextRelation, Time
from treering.search.relations.group import Session, Speaker
from treering.search.relations.registry import DEFAULTS, choose_plan
from treering.search.relations.semantic import Semantic
from treering.search.searcher import Search
from treering.search.snapshot import Snapshot


def a_space(size: int, seed: int) -> Snapshot:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(size, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    items = Items(
        document=rng.integers(0, 3, size),
        position=rng.permutation(size),
        session=rng.integers(-1, 3, size),
        speaker=rng.integers(-1, 3, size),
        at=rng.normal(size=size) * 1e5,
        vectors=vectors,
    )
    codes = np.arange(size, dtype=np.int64)
    return Snapshot(
        fragment=codes,
        entry=codes,
        zone=np.zeros(size, dtype=np.int16),
        kind=rng.integers(0, len(KINDS), size).astype(np.int8),
        items=items,
        lexical=Lexical(),
        embedded=np.ones(size, dtype=np.bool_),
        speakers=("Ana", "Ben", "Cem"),
        kinds=KINDS,
        version=1,
        state=SpaceState(id=1, revision=1),
    )


@given(seed=st.integers(0, 999))
def test_each_kind_of_content_gets_the_terms_of_its_own_relations(seed: int) -> None:
    snapshot = a_space(12, seed)
    own = np.random.default_rng(seed).normal(size=12).astype(np.float32)
    weighted: Plan = {
        "text": [Weighted(ContextRelation(0.5), 1.0)],
        "chat": [Weighted(ContextRelation(0.8, "session"), 2.0), Weighted(Speaker(), 0.5)],
        "code": [],
    }
    search = Search("boats", Filter(), "hybrid", weighted)
    ranking = Ranking(snapshot, Relations(), weighted, search, 1.0, scores=own.copy())
    ranking.add(contributions(signals_by_stage(ranking)[Stage.ROWS], ranking))
    total = ranking.scores
    terms = {
        name: np.sum([part.values for part in term.parts], axis=0)
        for name, term in ranking.terms.items()
        if isinstance(term, EnvironmentTerm)
    }
    np.testing.assert_allclose(total, sum(terms.values(), own), rtol=1e-5, atol=1e-6)
    relations = Relations()
    for code, kind in enumerate(KINDS):
        expected = {
            one.relation.name: one.alpha
            * relations.environment(one.relation, snapshot.items, 1, own)
            for one in weighted[kind]
            if is_relation(one.relation)
        }
        rows = snapshot.kind == code
        for name, values in terms.items():
            wanted = expected.get(name, np.zeros_like(own))
            np.testing.assert_allclose(values[rows], wanted[rows], rtol=1e-5, atol=1e-6)


def test_a_relation_chosen_by_name_has_the_parameters_measured_for_each_kind() -> None:
    chosen = choose_plan(DEFAULTS, ["context", "speaker"], None)
    assert chosen["chat"][0] == DEFAULTS["chat"][0]
    assert chosen["text"][0] == DEFAULTS["text"][0]
    assert chosen["chat"][1] == Weighted(Speaker(), 0.5)


def test_alpha_reweighs_all_relations_or_those_it_names() -> None:
    both: list[Relation] = [ContextRelation(0.3), Session()]
    assert [one.alpha for one in choose_plan(DEFAULTS, both, 0.2)["text"]] == [0.2, 0.2]
    assert [one.alpha for one in choose_plan(DEFAULTS, both, {"session": 0.9})["text"]] == [
        0.5,
        0.9,
    ]


def test_alpha_for_a_relation_that_takes_no_part_is_refused() -> None:
    with pytest.raises(UnknownName, match="alpha for speaker"):
        choose_plan(DEFAULTS, ["context"], {"speaker": 1.0})


def test_two_relations_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="share a name"):
        choose_plan(DEFAULTS, [ContextRelation(0.2), ContextRelation(0.9)], None)
    choose_plan(DEFAULTS, [ContextRelation(0.2), ContextRelation(0.9, name="wide context")], None)


@pytest.mark.parametrize("name", ["lexical", "dense"])
def test_a_relation_may_not_take_the_name_of_a_term_of_the_own_score(name: str) -> None:
    """Else the terms of ``hit.why`` would no longer add up to the score."""
    with pytest.raises(InputError, match=name):
        choose_plan(DEFAULTS, [Time(name=name)], None)


@pytest.mark.parametrize("alpha", [float("nan"), float("inf"), -1.0])
def test_a_weight_that_is_no_weight_is_refused(alpha: float) -> None:
    with pytest.raises(InputError, match="alpha"):
        choose_plan(DEFAULTS, [Semantic()], alpha)
