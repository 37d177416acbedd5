"""From evidence to a probability: plain logistic regression whose weights are shipped as data.

Every piece of evidence is a number from 0 to 1 that may be missing. It enters by its value and by
its being there, and by two marks for "all" and "none", which mean more than "nearly all" does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from treering.code.evidence import Evidence

Stage = Literal["static", "trial", "tested"]
"""The evidence a model was trained on: texts; runs; runs, and which rounds passed their tests."""

INTERCEPT = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence: its value (0 to 1) and what it adds to the log-odds of a loss."""

    name: str
    value: float
    weight: float


@dataclass(frozen=True, slots=True)
class Scorer:
    """Weights by column name (see ``columns``); a column without one counts for nothing."""

    weights: Mapping[str, float]

    def probability(self, evidence: Evidence) -> float:
        """How likely the requirement is lost."""
        odds = sum(self.weights.get(column, 0.0) * x for column, x, _ in columns(evidence))
        return 1 / (1 + math.exp(-odds))

    def reasons(self, evidence: Evidence) -> tuple[Reason, ...]:
        """The evidence, what speaks for a loss most strongly first."""
        terms: dict[str, float] = {}
        for column, x, name in columns(evidence):
            terms[name] = terms.get(name, 0.0) + self.weights.get(column, 0.0) * x
        terms.pop(INTERCEPT)
        reasons = [Reason(name, evidence[name], weight) for name, weight in terms.items()]
        return tuple(sorted(reasons, key=lambda reason: -reason.weight))


def columns(evidence: Evidence) -> Iterator[tuple[str, float, str]]:
    """The scorer's inputs that are not zero: column, number, and the evidence it comes from."""
    yield INTERCEPT, 1.0, INTERCEPT
    for name, value in evidence.items():
        yield f"{name}", value, name
        yield f"{name}: told", 1.0, name
        if value >= 1:
            yield f"{name}: all", 1.0, name
        elif value <= 0:
            yield f"{name}: none", 1.0, name


def shipped(stage: Stage) -> Scorer:
    """The scorer for ``stage`` that comes with treering."""
    return Scorer(_data()["weights"][stage])


def trained_on() -> str:
    """SHA-256 of the dialogues that the shipped scorers were fitted to."""
    digest: str = _data()["trained_on"]
    return digest


@cache
def _data() -> dict[str, Any]:
    text = files("treering.code").joinpath("weights.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


RIDGE = 1.0
"""Penalty on squared weights: as much as one observation says, so a rare mark cannot decide."""

MOST_STEPS = 50
CLOSE_ENOUGH = 1e-6


def fit(evidence: Sequence[Evidence], lost: Sequence[bool]) -> Scorer:
    """The scorer that explains best which requirements were ``lost``, by Newton's method."""
    rows = [{column: x for column, x, _ in columns(one)} for one in evidence]
    names = sorted({column for row in rows for column in row})
    inputs = np.array([[row.get(name, 0.0) for name in names] for row in rows])
    truth = np.array(lost, dtype=np.float64)
    weights = np.zeros(len(names))
    for _ in range(MOST_STEPS):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (truth - chance) - RIDGE * weights
        bend = (inputs.T * (chance * (1 - chance))) @ inputs + RIDGE * np.eye(len(names))
        step = np.linalg.solve(bend, slope)
        weights += step
        if np.abs(step).max() < CLOSE_ENOUGH:
            break
    return Scorer(dict(zip(names, weights.tolist(), strict=True)))
