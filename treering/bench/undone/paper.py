"""The paper's rule on added and deleted statements (CodeMEM, eq. 8 to 10), to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treering.views.code.parse.delta import CodeStatement
from treering.views.code.parse.statements import change
from treering.views.code.rounds.session import SAME_INTENT, SessionBlock, Similarity


@dataclass(frozen=True, slots=True)
class Conflict:
    """A remembered block whose change the new code takes back, and the statements at issue."""

    block: SessionBlock
    statements: frozenset[CodeStatement]


def conflicts(
    blocks: Sequence[SessionBlock], instruction: str, code: str, similarity: Similarity
) -> tuple[Conflict, ...]:
    """Blocks of another intent that Δ, the change from the last block to ``code``, contradicts.

    ``blocks`` is one memory sequence, oldest first.
    """
    if not blocks:
        return ()
    now = change(blocks[-1].code, code, blocks[-1].language)
    chosen = candidates(blocks, instruction, similarity)
    possible = (Conflict(block, block.change.reversed_by(now)) for block in chosen)
    return tuple(conflict for conflict in possible if conflict.statements)


def candidates(
    blocks: Sequence[SessionBlock], instruction: str, similarity: Similarity
) -> tuple[SessionBlock, ...]:
    """M_c: blocks whose instruction has another intent than ``instruction`` (eq. 8)."""
    asked = (block for block in blocks if block.instruction)
    return tuple(m for m in asked if similarity(instruction, m.instruction) < SAME_INTENT)
