"""Fitting scorers to recorded dialogues, and the ones that were: plain logistic regression."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from treering.errors import MissingExtra
from treering.views.code.guard import scorer
from treering.views.code.guard.evidence import Evidence
from treering.views.code.guard.scorer import INTERCEPT, Scorer, columns

Stage = Literal["static", "trial", "tested"]
"""The evidence a scorer is fitted to: texts; runs; runs, and which rounds passed their tests."""

RIDGE = 1.0
"""Penalty on squared weights: as much as one observation says, so a rare mark cannot decide."""

MOST_STEPS = 100
CLOSE_ENOUGH = 1e-8


def fit(evidence: Sequence[Evidence], lost: Sequence[bool]) -> Scorer:
    """The scorer that explains best which requirements were ``lost``.

    The intercept is a column like any other and is penalised like them. Where all are lost, or
    none, there is nothing to tell apart and the intercept says so alone. Raises MissingExtra.
    """
    if len(set(lost)) < 2:
        return Scorer({INTERCEPT: RIDGE if any(lost) else -RIDGE})
    try:
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.linear_model import LogisticRegression
    except ModuleNotFoundError as error:
        raise MissingExtra.of("scikit-learn", "bench") from error
    rows = [{column: value for column, value, _ in columns(case)} for case in evidence]
    table = DictVectorizer(sparse=False)
    inputs = table.fit_transform(rows)
    model = LogisticRegression(
        C=1 / RIDGE,
        fit_intercept=False,
        solver="newton-cholesky",
        max_iter=MOST_STEPS,
        tol=CLOSE_ENOUGH,
    )
    model.fit(inputs, lost)
    weights: list[float] = model.coef_[0].tolist()
    return Scorer(dict(zip(table.get_feature_names_out().tolist(), weights, strict=True)))


def fitted(stage: Stage) -> Scorer:
    """The scorer of a stage that was fitted to all dialogues; that of texts ships with treering."""
    return scorer.shipped() if stage == "static" else Scorer(_data()["weights"][stage])


def trained_on() -> str:
    """SHA-256 of the dialogues that the scorers were fitted to."""
    digest: str = _data()["trained_on"]
    return digest


@cache
def _data() -> dict[str, Any]:
    text = files("treering_bench.undone").joinpath("weights.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data
