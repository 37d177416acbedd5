"""The paper's rule, which the detector is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from treering.views.code.guard.printed import candidates, conflicts
from treering.views.code.rounds.session import SessionBlock, with_changes

PLAIN = "def half(n):\n    return n / 2\n"
GUARDED = """\
def half(n):
    if n < 0:
        raise ValueError("n is negative")
    return n / 2
"""
ASKED = ("Write 'half'.", "Raise a ValueError if the input is negative.", "Follow PEP 8.")


def exact(one: str, other: str) -> float:
    return float(one == other)


def remembered(*codes: str) -> Sequence[SessionBlock]:
    return with_changes(
        SessionBlock("half", asked, code) for asked, code in zip(ASKED, codes, strict=False)
    )


def test_it_names_the_block_whose_guard_is_gone() -> None:
    (conflict,) = conflicts(remembered(PLAIN, GUARDED), ASKED[2], PLAIN, exact)
    assert conflict.block.instruction == ASKED[1]
    assert {"if_statement", "raise_statement"} <= {s.type for s in conflict.statements}


def test_it_looks_at_blocks_of_another_intent() -> None:
    blocks = remembered(PLAIN, GUARDED)
    assert conflicts(blocks, ASKED[1], PLAIN, exact) == ()
    assert [b.instruction for b in candidates(blocks, ASKED[0], exact)] == [ASKED[1]]


def test_with_nothing_remembered_nothing_is_undone() -> None:
    assert conflicts((), ASKED[0], PLAIN, exact) == ()
