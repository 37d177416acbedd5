"""Which earlier requirement does this change undo?

Two answers: the paper's rule on added and deleted statements (eq. 8 to 10), and a scorer that
weighs evidence by what each requirement asked for and shows what is gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from treering.code.behaviour import Part, behaviour
from treering.code.diff import Statement, change
from treering.code.evidence import Evidence, Version, lost_parts, static_evidence
from treering.code.requirement import read
from treering.code.scorer import Reason, Scorer, Stage, shipped
from treering.code.session import SessionBlock, Similarity, candidates
from treering.code.trial import Laboratory, Observation, Trial

LIKELY = 0.5
"""A loss is reported where it is likelier than not; not tuned to any data."""


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
class Case:
    """An earlier round of a sequence and the evidence on whether its requirement is lost.

    ``parts`` are what the round brought and the new code lacks, with the lines of the round's
    code; ``observed`` inputs on which the two differ.
    """

    round: int
    instruction: str
    evidence: Evidence
    parts: tuple[Part, ...] = ()
    observed: tuple[Observation, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A requirement that a change is likely to undo, and why."""

    case: Case
    probability: float
    reasons: tuple[Reason, ...]

    def __str__(self) -> str:
        lines = [f"round {self.case.round} is undone ({self.probability:.0%}): "
                 f"{self.case.instruction}"]  # fmt: skip
        lines += [
            f"  lines {part.first_line}-{part.last_line} then: {part.kind} {part.text}"
            for part in self.case.parts
        ]
        lines += [f"  {observation}" for observation in self.case.observed]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a change undoes anything, and what: ``findings`` are the likeliest first."""

    probability: float
    findings: tuple[Finding, ...]

    @property
    def alarm(self) -> bool:
        """Whether something is likelier lost than not."""
        return self.probability >= LIKELY


def cases(
    blocks: Sequence[SessionBlock],
    instruction: str,
    code: str,
    laboratory: Laboratory | None = None,
) -> tuple[Case, ...]:
    """The evidence on every earlier requirement of the sequence ``blocks`` that has behaviour.

    With a ``laboratory`` the versions are run. Where every block says what its code is known to
    meet, requirements that were never met are left out: they cannot be lost.
    """
    name, language = blocks[-1].definition, blocks[-1].language

    def version(asked: str, text: str) -> Version:
        return Version(read(asked), text, behaviour(text, name, language))

    history = [version(block.instruction, block.code) for block in blocks]
    now = version(instruction, code)
    trial = Trial.of(laboratory, [*history, now]) if laboratory is not None else None
    return tuple(_cases(blocks, history, now, trial))


def _cases(
    blocks: Sequence[SessionBlock], history: Sequence[Version], now: Version, trial: Trial | None
) -> Iterator[Case]:
    for origin, then in enumerate(history):
        met = _met(blocks, origin)
        if not blocks[origin].instruction or then.requirement.kind == "form":
            continue
        if met is not None and not any(met):
            continue
        text, parts = then.requirement.text, lost_parts(history, origin, now)
        if trial is None:
            yield Case(origin, text, static_evidence(history, origin, now), parts)
        else:
            seen = trial.observations(origin)
            yield Case(origin, text, trial.evidence(origin, met), parts, seen)


def _met(blocks: Sequence[SessionBlock], origin: int) -> tuple[bool, ...] | None:
    """Which blocks since ``origin`` are known to meet its requirement; None if not all say."""
    told = [block.met for block in blocks]
    if any(met is None for met in told):
        return None
    return tuple(met is not None and origin in met for met in told[origin:])


def judge(
    blocks: Sequence[SessionBlock],
    instruction: str,
    code: str,
    laboratory: Laboratory | None = None,
    scorer: Callable[[Stage], Scorer] = shipped,
) -> Verdict:
    """Whether ``code``, written for ``instruction``, undoes what ``blocks`` brought.

    Static unless there is a ``laboratory`` to run the versions in (Python only).
    """
    if not blocks:
        return Verdict(0.0, ())
    return verdict(
        cases(blocks, instruction, code, laboratory), scorer(stage_of(blocks, laboratory))
    )


def stage_of(blocks: Sequence[SessionBlock], laboratory: Laboratory | None) -> Stage:
    """The kind of evidence that ``cases`` gives."""
    if laboratory is None:
        return "static"
    return "trial" if any(block.met is None for block in blocks) else "tested"


def verdict(evidence: Sequence[Case], scorer: Scorer) -> Verdict:
    """Score the cases; that nothing is lost is taken to need every one of them to be kept.

    Where no single loss but some loss is likely, the likeliest is named.
    """
    found = [
        Finding(case, scorer.probability(case.evidence), scorer.reasons(case.evidence))
        for case in evidence
    ]
    found.sort(key=lambda finding: -finding.probability)
    any_lost = 1 - math.prod(1 - finding.probability for finding in found)
    named = [
        f for i, f in enumerate(found) if f.probability >= LIKELY or (i == 0 and any_lost >= LIKELY)
    ]
    return Verdict(any_lost, tuple(named))
