"""From evidence to a probability: plain logistic regression whose weights are shipped as data.

Every piece of evidence is a number from 0 to 1 that may be missing. It enters by its value and by
its being there, and by two marks for "all" and "none", which mean more than "nearly all" does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from treering.views.code.guard.evidence import Evidence

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


OF_RULES: Mapping[str, float] = dict.fromkeys(
    (
        "as before",
        "much returns",
        "an error is dropped",
        "all returns",
        "a value is set back",
        "an addition is gone",
        "steps are turned back",
    ),
    16.0,
)
"""Weights of the rules (``rules.Comparison``): each was made to be right by itself, so one that
holds is enough. They are not fitted."""

RULES = Scorer({INTERCEPT: -8.0, **OF_RULES})
"""What a check weighs with: rules, and nothing else. A gate must not stop a commit for a share of
its wording."""


@cache
def shipped() -> Scorer:
    """The scorer of texts that comes with treering, for warnings: the rules, and with weights
    fitted to recorded dialogues what else the texts say."""
    text = files("treering.views.code.guard").joinpath("weights.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return Scorer({**data["weights"], **OF_RULES})
