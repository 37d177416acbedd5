"""The detector: the evidence of rules, shares and wording, and the scored verdict."""

from __future__ import annotations

from collections.abc import Sequence

from treering.views.code.guard.detector import Case, likely_reversals, text_cases, verdict
from treering.views.code.guard.scorer import Scorer
from treering.views.code.parse.pieces import DefinitionChange
from treering.views.code.rounds.history import changes_of, piece_of
from treering.views.code.rounds.session import SessionBlock, chained

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


def remembered(*codes: str) -> Sequence[SessionBlock]:
    return chained(
        SessionBlock("half", asked, code, path="m.py")
        for asked, code in zip(ASKED, codes, strict=False)
    )


def cases(blocks: Sequence[SessionBlock], code: str) -> tuple[Case, ...]:
    after = SessionBlock("half", ASKED[2], code, path="m.py")
    change = DefinitionChange(piece_of(blocks[-1]), piece_of(after))
    return text_cases(change, changes_of(blocks), ASKED[2])


def test_the_texts_show_what_was_asked_for_and_is_gone() -> None:
    _, guard = cases(remembered(PLAIN, GUARDED), PLAIN)
    assert guard.evidence["asked errors raised"] == 0
    assert guard.evidence["added parts kept"] == 0
    assert guard.evidence["as before"] == 1
    assert ("guard", 3) in {(part.kind, part.first_line) for part in guard.broken.lost}


def test_the_texts_see_through_renaming_and_reordering() -> None:
    _, guard = cases(remembered(PLAIN, GUARDED), RESHAPED)
    assert guard.evidence["asked errors raised"] == 1
    assert guard.evidence["added parts kept"] == 1
    assert guard.broken.lost == ()


def test_a_definition_that_is_gone_is_evidence() -> None:
    _, guard = cases(remembered(PLAIN, GUARDED), "def third(n):\n    return n\n")
    assert guard.evidence["definition gone"] == 1


def test_requirements_of_form_are_not_judged() -> None:
    blocks = remembered(PLAIN, GUARDED, GUARDED)
    assert [case.origin for case in cases(blocks, PLAIN)] == [0, 1]


def test_losses_that_are_likely_together_are_named_by_the_likeliest() -> None:
    even = Scorer({"": -0.4, "worse": 0.3})
    both = verdict([Case(0, {}), Case(1, {"worse": 1.0})], even)
    assert both.probability > 0.5
    assert [case.origin for case, _ in both.named] == [1]


def test_what_is_unlikely_is_not_named() -> None:
    assert verdict([Case(0, {})], Scorer({"": -3.0})).named == ()


def test_a_report_says_what_is_missing_how_likely_and_why() -> None:
    blocks = remembered(PLAIN, GUARDED)
    change = DefinitionChange(
        piece_of(blocks[-1]), piece_of(SessionBlock("half", "", PLAIN, path="m.py"))
    )
    [report] = likely_reversals(change, changes_of(blocks), ASKED[2])
    assert (report.instruction, report.path) == (ASKED[1], "m.py")
    assert "raise ValueError" in report.missing
    assert report.probability > 0.9
    assert "as before" in {reason.name for reason in report.reasons[:3]}
