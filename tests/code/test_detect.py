"""The detector: the paper's rule, the evidence from texts, and the scored verdict."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from treering.code.detect import Case, cases, conflicts, judge, stage_of, verdict
from treering.code.scorer import Scorer
from treering.code.session import SessionBlock, Sessions
from treering.code.trial import Laboratory

PLAIN = "def half(n):\n    return n / 2\n\n\nhalf(4)\n"
GUARDED = """\
def half(n):
    if n < 0:
        raise ValueError("n is negative")
    return n / 2
"""
RESHAPED = """\
def half(number):
    result = number / 2
    if number < 0:
        raise ValueError("n is negative")
    return result
"""
ASKED = (
    "Write a function called 'half' that halves a number.",
    "The function should raise a ValueError if the input is negative.",
    "The function should adhere to PEP 8.",
)


def exact(one: str, other: str) -> float:
    return float(one == other)


def remembered(*codes: str, met: Sequence[frozenset[int] | None] = ()) -> Sequence[SessionBlock]:
    memory = Sessions()
    for i, code in enumerate(codes):
        known = met[i] if met else None
        memory = memory.record(SessionBlock("half", ASKED[i], code, met=known))
    return memory.sequence("half")


def test_the_papers_rule_names_the_block_whose_guard_is_gone() -> None:
    (conflict,) = conflicts(remembered(PLAIN, GUARDED), ASKED[2], PLAIN, exact)
    assert conflict.block.instruction == ASKED[1]
    assert {"if_statement", "raise_statement"} <= {s.type for s in conflict.statements}


def test_the_papers_rule_passes_over_blocks_of_the_same_intent() -> None:
    assert conflicts(remembered(PLAIN, GUARDED), ASKED[1], PLAIN, exact) == ()


def test_with_nothing_remembered_nothing_is_undone() -> None:
    assert conflicts((), ASKED[0], PLAIN, exact) == ()
    assert not judge((), ASKED[0], PLAIN).alarm


def test_static_evidence_shows_what_was_asked_for_and_is_gone() -> None:
    _, guard = cases(remembered(PLAIN, GUARDED), ASKED[2], PLAIN)
    assert guard.evidence["asked errors raised"] == 0
    assert guard.evidence["added parts kept"] == 0
    assert ("guard", 3) in {(part.kind, part.first_line) for part in guard.parts}


def test_static_evidence_sees_through_renaming_and_reordering() -> None:
    _, guard = cases(remembered(PLAIN, GUARDED), ASKED[2], RESHAPED)
    assert guard.evidence["asked errors raised"] == 1
    assert guard.evidence["added parts kept"] == 1
    assert guard.parts == ()


def test_a_definition_that_is_gone_is_told() -> None:
    _, guard = cases(remembered(PLAIN, GUARDED), ASKED[2], "def third(n):\n    return n\n")
    assert guard.evidence["definition gone"] == 1


def test_requirements_of_form_are_not_judged() -> None:
    blocks = remembered(PLAIN, GUARDED, GUARDED)
    assert [case.round for case in cases(blocks, "Make it faster.", PLAIN)] == [0, 1]


def test_a_requirement_that_was_never_met_cannot_be_lost() -> None:
    met = [frozenset({0}), frozenset({0})]
    blocks = remembered(PLAIN, GUARDED, met=met)
    assert [case.round for case in cases(blocks, ASKED[2], PLAIN)] == [0]


@pytest.mark.parametrize(
    ("known", "run", "stage"),
    [(False, False, "static"), (False, True, "trial"), (True, True, "tested")],
)
def test_the_stage_is_the_best_that_the_evidence_allows(known: bool, run: bool, stage: str) -> None:
    blocks = remembered(PLAIN, met=[frozenset({0})] if known else ())
    assert stage_of(blocks, Laboratory("half") if run else None) == stage


def test_losses_that_are_likely_together_are_reported_by_the_likeliest() -> None:
    even = Scorer({"": -0.4, "worse": 0.3})
    told = verdict([Case(0, "a", {}), Case(1, "b", {"worse": 1.0})], even)
    assert told.alarm
    assert [f.case.round for f in told.findings] == [1]


def test_findings_come_likeliest_first_and_without_alarm_there_are_none() -> None:
    scorer = Scorer({"": -3.0, "lost": 5.0, "gone": 8.0})
    told = verdict([Case(0, "a", {"lost": 1.0}), Case(1, "b", {"gone": 1.0})], scorer)
    assert [f.case.round for f in told.findings] == [1, 0]
    assert verdict([Case(0, "a", {})], scorer).findings == ()


def test_run_side_by_side_a_lost_guard_is_reported_with_lines_and_a_call() -> None:
    told = judge(remembered(PLAIN, GUARDED), ASKED[2], PLAIN, Laboratory("half"))
    assert told.alarm
    assert told.findings[0].case.round == 1
    report = str(told.findings[0])
    assert "lines 3-3 then: guard ValueError if p0 < 0" in report
    assert "(-1,): raises ValueError: n is negative then, gives -0.5 now" in report


def test_run_side_by_side_a_reshaped_function_passes() -> None:
    assert not judge(remembered(PLAIN, GUARDED), ASKED[2], RESHAPED, Laboratory("half")).alarm
