"""Which earlier requirement does this change undo?

Two answers: the paper's rule on added and deleted statements (eq. 8 to 10), and a scorer that
weighs evidence by what each requirement asked for and names the lines that are gone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from treering.code.behaviour import Part, behaviour
from treering.code.diff import Statement, change
from treering.code.evidence import Evidence, Version, static_evidence
from treering.code.requirement import Kind, Requirement, read
from treering.code.session import SessionBlock, Similarity, candidates
from treering.code.trial import Laboratory, inputs, trial_evidence


@dataclass(frozen=True, slots=True)
class Conflict:
    """A remembered block whose change the new code takes back, and the statements at issue."""

    block: SessionBlock
    statements: frozenset[Statement]


def conflicts(
    blocks: Sequence[SessionBlock], instruction: str, code: str, similarity: Similarity
) -> tuple[Conflict, ...]:
    """The paper's detector: blocks of another intent that Δ contradicts (eq. 8 to 10).

    ``blocks`` is one memory sequence; Δ is the change from its last block to ``code``.
    """
    if not blocks:
        return ()
    now = change(blocks[-1].code, code, blocks[-1].language)
    chosen = candidates(tuple(blocks), instruction, similarity)
    found = (Conflict(block, block.change.reversed_by(now)) for block in chosen)
    return tuple(conflict for conflict in found if conflict.statements)


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence: its value (0 to 1) and what it adds to the log-odds."""

    name: str
    value: float
    weight: float


@dataclass(frozen=True, slots=True)
class Finding:
    """An earlier requirement that a change is likely to undo.

    ``then`` are the parts that the requirement's own change brought and ``now`` lacks; they, and
    ``now`` (what stands there instead), carry the lines in the two versions.
    """

    round: int
    requirement: str
    probability: float
    reasons: tuple[Reason, ...]
    then: tuple[Part, ...]
    now: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Scorer:
    """Plain logistic regression over evidence, with its own weights for each kind of requirement.

    ``weights`` maps ``kind/evidence`` and ``any/evidence`` to the weight of its value, the same
    with ``?`` to that of its being there, and ``kind/`` to the kind's intercept.
    """

    weights: Mapping[str, float]
    threshold: float

    def reasons(self, kind: Kind, evidence: Evidence) -> tuple[Reason, ...]:
        """The terms of the log-odds, strongest first."""
        terms: dict[str, float] = {}
        for key, value in columns(kind, evidence):
            name = key.split("/", 1)[1].rstrip("?")
            terms[name] = terms.get(name, 0.0) + self.weights.get(key, 0.0) * value
        reasons = [Reason(name, evidence.get(name, 1.0), w) for name, w in terms.items()]
        return tuple(sorted(reasons, key=lambda reason: -reason.weight))

    def probability(self, kind: Kind, evidence: Evidence) -> float:
        """How likely the requirement is lost."""
        odds = sum(self.weights.get(key, 0.0) * value for key, value in columns(kind, evidence))
        return 1 / (1 + math.exp(-odds))


def columns(kind: Kind, evidence: Evidence) -> Iterator[tuple[str, float]]:
    """The scorer's input: evidence by itself and crossed with the kind of requirement."""
    for scope in ("any", kind):
        yield f"{scope}/", 1.0
        for name, value in evidence.items():
            yield f"{scope}/{name}", value
            yield f"{scope}/{name}?", 1.0


@cache
def shipped(stage: str) -> Scorer:
    """The scorer that comes with treering for evidence of ``static`` or of ``trial`` too."""
    text = files("treering.code").joinpath("weights.json").read_text(encoding="utf-8")
    model = json.loads(text)[stage]
    return Scorer(model["weights"], model["threshold"])
