"""Session blocks: sequences, renamed definitions, links and working memory."""

from __future__ import annotations

import pytest

from treering.code.session import SessionBlock, Sessions, candidates
from treering.errors import UnknownName

FIRST = "def area(a, b):\n    return a * b\n"
SECOND = "def area(a, b):\n    if a < 0:\n        raise ValueError('negative')\n    return a * b\n"


def exact(one: str, other: str) -> float:
    return float(one == other)


def block(instruction: str, code: str, definition: str = "area") -> SessionBlock:
    return SessionBlock(definition, instruction, code)


def test_the_first_block_has_no_change_and_the_next_has_the_diff() -> None:
    memory = Sessions().record(block("write", FIRST)).record(block("check", SECOND))
    first, second = memory.sequence("area")
    assert not first.change.added
    assert {s.type for s in second.change.added} == {"if_statement", "raise_statement"}


def test_memory_is_never_altered() -> None:
    memory = Sessions().record(block("write", FIRST))
    memory.record(block("check", SECOND))
    assert len(memory.sequence("area")) == 1


def test_a_renamed_definition_continues_its_sequence() -> None:
    memory = Sessions().record(block("write", SECOND))
    renamed = block("rename", SECOND.replace("area", "surface"), "surface")
    assert [b.instruction for b in memory.record(renamed).sequence("surface")] == [
        "write",
        "rename",
    ]


def test_a_new_definition_beside_the_old_one_begins_a_sequence() -> None:
    memory = Sessions().record(block("write", SECOND))
    both = SECOND + SECOND.replace("area", "surface")
    grown = memory.record(block("another", both, "surface"))
    assert len(grown.sequence("surface")) == len(grown.sequence("area")) == 1


def test_working_memory_is_the_last_block_and_those_of_like_instruction() -> None:
    memory = Sessions()
    for instruction in ("check", "faster", "check"):
        memory = memory.record(block(instruction, SECOND))
    assert [b.instruction for b in memory.working("area", exact)] == ["check", "check"]


def test_the_detector_looks_at_blocks_of_another_intent() -> None:
    memory = Sessions().record(block("check", SECOND)).record(block("faster", SECOND))
    chosen = candidates(memory.sequence("area"), "check", exact)
    assert [b.instruction for b in chosen] == ["faster"]


def test_a_note_is_written_on_the_last_block() -> None:
    memory = Sessions().record(block("write", FIRST)).annotate("area", "as asked", "accepted")
    assert (memory.sequence("area")[-1].note, memory.sequence("area")[-1].outcome) == (
        "as asked",
        "accepted",
    )


def test_asking_for_an_unknown_definition_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="there is memory of: area"):
        Sessions().record(block("write", FIRST)).sequence("surface")
