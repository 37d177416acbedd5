"""The scorer: its columns, its explanations, its weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.views.code.guard.evidence import Evidence
from treering.views.code.guard.scorer import OF_RULES, RULES, Scorer, columns, shipped

EVIDENCE = st.dictionaries(st.sampled_from("abc"), st.floats(0, 1))


def test_evidence_enters_by_value_presence_and_its_extremes() -> None:
    assert [c for c, _, _ in columns({"kept": 0.5})] == ["", "kept", "kept: told"]
    assert [c for c, _, _ in columns({"kept": 1.0})][-1] == "kept: all"
    assert [c for c, _, _ in columns({"kept": 0.0})][-1] == "kept: none"


def test_a_probability_is_the_logistic_of_the_summed_weights() -> None:
    scorer = Scorer({"": -1.0, "kept": -2.0, "kept: told": 0.5})
    assert scorer.probability({"kept": 0.25}) == pytest.approx(1 / (1 + math.exp(1.0)))
    (reason,) = scorer.reasons({"kept": 0.25})
    assert (reason.name, reason.value, reason.weight) == ("kept", 0.25, 0.0)


@given(EVIDENCE, st.dictionaries(st.sampled_from(["", "a", "b: told", "c: all"]), st.floats(-5, 5)))
def test_reasons_and_intercept_sum_to_the_log_odds(
    evidence: Evidence, weights: dict[str, float]
) -> None:
    scorer = Scorer(weights)
    chance = scorer.probability(evidence)
    told = weights.get("", 0.0) + sum(r.weight for r in scorer.reasons(evidence))
    assert math.log(chance / (1 - chance)) == pytest.approx(told, abs=1e-6)


def test_shipped_weights_are_finite_and_have_an_intercept() -> None:
    weights = shipped().weights
    assert "" in weights
    assert np.isfinite(list(weights.values())).all()


@pytest.mark.parametrize("rule", OF_RULES)
@pytest.mark.parametrize("scorer", [RULES, shipped()], ids=["check", "draft"])
def test_a_rule_that_holds_is_enough(scorer: Scorer, rule: str) -> None:
    assert scorer.probability({rule: 1.0}) > 0.99
    assert scorer.probability({rule: 0.0}) == scorer.probability({})


def test_a_check_weighs_nothing_but_rules() -> None:
    assert RULES.probability({"asked errors raised": 0.0, "definition gone": 1.0}) < 0.01
