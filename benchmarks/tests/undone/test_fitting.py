"""Scorers fitted to dialogues."""

from __future__ import annotations

import numpy as np
import pytest

from treering.views.code.guard.evidence import Evidence
from treering.views.code.guard.scorer import columns
from treering_bench.undone.fitting import RIDGE, Stage, fit, fitted


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
def test_the_weights_of_every_stage_are_finite_and_have_an_intercept(stage: Stage) -> None:
    weights = fitted(stage).weights
    assert "" in weights
    assert np.isfinite(list(weights.values())).all()


@pytest.mark.parametrize("lost", [True, False])
def test_where_all_ended_alike_the_scorer_says_that(lost: bool) -> None:
    scorer = fit([{"kept": 0.5}, {"kept": 1.0}], [lost, lost])
    assert (scorer.probability({"kept": 0.2}) > 0.5) is lost
