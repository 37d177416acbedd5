"""Session blocks: sequences and working memory."""

from __future__ import annotations

from treering.views.code.rounds.session import SessionBlock, with_changes, working_memory

FIRST = "def area(a, b):\n    return a * b\n"
SECOND = "def area(a, b):\n    if a < 0:\n        raise ValueError('negative')\n    return a * b\n"


def exact(one: str, other: str) -> float:
    return float(one == other)


def block(instruction: str, code: str, definition: str = "area") -> SessionBlock:
    return SessionBlock(definition, instruction, code)


def test_the_first_block_has_no_change_and_the_next_has_the_diff() -> None:
    first, second = with_changes([block("write", FIRST), block("check", SECOND)])
    assert not first.change.added
    assert {s.type for s in second.change.added} == {"if_statement", "raise_statement"}


def test_working_memory_is_the_last_block_and_those_of_like_instruction() -> None:
    blocks = [block(instruction, SECOND) for instruction in ("check", "faster", "check")]
    assert [b.instruction for b in working_memory(blocks, exact)] == ["check", "check"]
    assert working_memory([], exact) == ()
