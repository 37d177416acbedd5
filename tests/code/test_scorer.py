"""The scorer: its columns, its explanations, its fit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.code.evidence import Evidence
from treering.code.scorer import RIDGE, Scorer, Stage, columns, fit, shipped

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


def test_the_fit_is_where_the_penalised_likelihood_is_flat() -> None:
    evidence: list[Evidence] = [{"kept": 0.0}, {"kept": 0.2}, {"kept": 0.9}, {"kept": 1.0}, {}]
    lost = [True, True, False, False, True]
    scorer = fit(evidence, lost)
    for name, weight in scorer.weights.items():
        slope = sum(
            {c: x for c, x, _ in columns(e)}.get(name, 0.0) * (y - scorer.probability(e))
            for e, y in zip(evidence, lost, strict=True)
        )
        assert slope == pytest.approx(RIDGE * weight, abs=1e-5)
    assert scorer.probability({"kept": 0.0}) > 0.5 > scorer.probability({"kept": 1.0})


@pytest.mark.parametrize("stage", ["static", "trial", "tested"])
def test_shipped_weights_are_finite_and_have_an_intercept(stage: Stage) -> None:
    weights = shipped(stage).weights
    assert "" in weights
    assert np.isfinite(list(weights.values())).all()
