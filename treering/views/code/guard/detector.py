"""Which earlier rounds does a change undo? One scorer weighs the evidence on each of them.

A check stops a commit, so it asks rules alone (``scorer.RULES``); a draft that is written again
costs one more reply, so there everything that the texts say is weighed (``scorer.shipped``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from treering.views.code.guard.difference import NOTHING, Arrivals, RuleFinding, merged
from treering.views.code.guard.evidence import (
    Evidence,
    Version,
    lost_parts,
    rule_evidence,
    text_evidence,
)
from treering.views.code.guard.report import Reversal, reversal
from treering.views.code.guard.rules import Comparison, turned_steps
from treering.views.code.guard.scorer import RULES, Scorer, shipped
from treering.views.code.guard.wording import read_instruction
from treering.views.code.parse.parts import CodeReading
from treering.views.code.parse.pieces import CodePiece, DefinitionChange
from treering.views.code.rounds.history import EarlierChange

LIKELY = 0.5
"""A loss is reported where it is likelier than not; not tuned to any data."""


@dataclass(frozen=True, slots=True)
class Case:
    """An earlier round, by its place in the history, and the evidence on whether it is undone.

    ``broken`` are the parts at issue: of the code before the change, and of the one after it.
    """

    origin: int
    evidence: Evidence
    broken: RuleFinding = NOTHING


@dataclass(frozen=True, slots=True)
class Verdict:
    """How likely a change undoes anything, and the cases that are named for it with theirs."""

    probability: float
    named: tuple[tuple[Case, float], ...]


def reversals(
    change: DefinitionChange, history: Sequence[EarlierChange], arrivals: Arrivals
) -> tuple[Reversal, ...]:
    """The rounds of ``history``, oldest first, that ``change`` surely takes back; newest first.

    A definition that is gone as a whole is not looked at: nobody loses one by accident.
    """
    return _reported(change, history, rule_cases(change, history, arrivals), RULES)


def likely_reversals(
    change: DefinitionChange, history: Sequence[EarlierChange], instruction: str
) -> tuple[Reversal, ...]:
    """The rounds that ``change``, made for an ``instruction``, is likely to undo; newest first."""
    return _reported(change, history, text_cases(change, history, instruction), shipped())


def rule_cases(
    change: DefinitionChange, history: Sequence[EarlierChange], arrivals: Arrivals
) -> tuple[Case, ...]:
    """Every earlier round with the rules that hold."""
    if change.before is None or change.after is None:
        return ()
    old, new = change.before, change.after
    turned = turned_steps(old, new)
    cases = []
    for origin, earlier in enumerate(history):
        broken = Comparison(earlier, old, new, arrivals, turned).broken()
        cases.append(Case(origin, rule_evidence(broken), merged(broken.values())))
    return tuple(cases)


def text_cases(
    change: DefinitionChange, history: Sequence[EarlierChange], instruction: str
) -> tuple[Case, ...]:
    """Every earlier round that asked for behaviour, with all that the texts say of it."""
    versions = [version_of(earlier) for earlier in history]
    after = change.after
    reading = _definition(after)
    now = Version(read_instruction(instruction), after.code if after else "", reading)
    cases = []
    for case in rule_cases(change, history, Arrivals.of([change])):
        then = versions[case.origin]
        if then.requirement.kind == "form":
            continue
        evidence = {**case.evidence, **text_evidence(versions, case.origin, now)}
        broken = case.broken if case.broken.lost else RuleFinding(lost_parts(then, reading))
        cases.append(Case(case.origin, evidence, broken))
    return tuple(cases)


def version_of(earlier: EarlierChange) -> Version:
    """What the texts of an earlier round say."""
    asked = read_instruction(earlier.instruction)
    before, after = _definition(earlier.before), _definition(earlier.after)
    return Version(asked, earlier.after.code, after, before)


def _definition(piece: CodePiece | None) -> CodeReading | None:
    """The reading of a definition; None where the code that a model wrote does not hold it."""
    return piece.reading() if piece is not None and piece.is_function else None


def verdict(cases: Sequence[Case], scorer: Scorer) -> Verdict:
    """Score the cases; that nothing is lost is taken to need every one of them to be kept.

    Where no single loss but some loss is likely, the likeliest is named.
    """
    scored = sorted(((scorer.probability(c.evidence), c) for c in cases), key=lambda pair: -pair[0])
    any_lost = 1 - math.prod(1 - probability for probability, _ in scored)
    named = tuple(
        (case, probability)
        for place, (probability, case) in enumerate(scored)
        if probability >= LIKELY or (place == 0 and any_lost >= LIKELY)
    )
    return Verdict(any_lost, named)


def _reported(
    change: DefinitionChange,
    history: Sequence[EarlierChange],
    cases: Sequence[Case],
    scorer: Scorer,
) -> tuple[Reversal, ...]:
    """A report for each round that is named, but for those that a newer one says already."""
    if change.before is None or change.after is None:
        return ()
    reports: list[Reversal] = []
    shown: set[int] = set()
    newest_first = sorted(verdict(cases, scorer).named, key=lambda pair: -pair[0].origin)
    for case, probability in newest_first:
        broken, earlier = case.broken, history[case.origin]
        lines = {part.first_line for part in broken.lost}
        if lines and lines <= shown:
            continue
        shown |= lines
        reasons = tuple(r for r in scorer.reasons(case.evidence) if r.weight > 0)
        reports.append(
            reversal(
                earlier, change.before, change.after, broken.lost, broken.back, probability, reasons
            )
        )
    return tuple(reports)
