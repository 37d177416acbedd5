"""CodeMEM's detector as the paper prints it: added and deleted statements (eq. 8 to 10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treering.views.code.guard.report import Reversal, SourceLine
from treering.views.code.parse.statements import CodeDelta, CodeStatement, change
from treering.views.code.rounds.session import SAME_INTENT, SessionBlock, Similarity


@dataclass(frozen=True, slots=True)
class Conflict:
    """A remembered block whose change the new code takes back, and the statements at issue."""

    block: SessionBlock
    statements: frozenset[CodeStatement]


def conflicts(
    blocks: Sequence[SessionBlock],
    instruction: str,
    code: str,
    similarity: Similarity,
    alike: float = SAME_INTENT,
) -> tuple[Conflict, ...]:
    """Blocks of another intent that Δ, the change from the last block to ``code``, contradicts.

    ``blocks`` is one memory sequence, oldest first. ``alike`` is τ.
    """
    if not blocks:
        return ()
    now = change(blocks[-1].code, code, blocks[-1].language)
    chosen = candidates(blocks, instruction, similarity, alike)
    possible = (Conflict(block, block.change.reversed_by(now)) for block in chosen)
    return tuple(conflict for conflict in possible if conflict.statements)


def candidates(
    blocks: Sequence[SessionBlock],
    instruction: str,
    similarity: Similarity,
    alike: float = SAME_INTENT,
) -> tuple[SessionBlock, ...]:
    """M_c: blocks whose instruction has another intent than ``instruction`` (eq. 8)."""
    asked = (block for block in blocks if block.instruction)
    return tuple(m for m in asked if similarity(instruction, m.instruction) < alike)


def printed_reversals(
    blocks: Sequence[SessionBlock],
    instruction: str,
    code: str,
    similarity: Similarity,
    alike: float = SAME_INTENT,
) -> tuple[Reversal, ...]:
    """The conflicting blocks as reports, newest first."""
    conflicting = conflicts(blocks, instruction, code, similarity, alike)
    now = change(blocks[-1].code, code, blocks[-1].language) if blocks else CodeDelta()
    return tuple(_report(conflict, now) for conflict in reversed(conflicting))


def _report(conflict: Conflict, now: CodeDelta) -> Reversal:
    block = conflict.block
    lost = _in_order(now.deleted & conflict.statements)
    back = _in_order(now.added & conflict.statements)
    return Reversal(
        path=block.path,
        definition=block.definition,
        line=1,
        instruction=block.instruction,
        name=block.id,
        at=block.at,
        origin="round",
        lost=tuple(_source_line(statement) for statement in lost),
        then=tuple(SourceLine(s.first_line, _source_line(s)) for s in lost),
        now=tuple(SourceLine(s.first_line, _source_line(s)) for s in back),
        missing=tuple(_source_line(statement) for statement in lost),
        rules=("as printed",),
    )


def _in_order(statements: Iterable[CodeStatement]) -> list[CodeStatement]:
    return sorted(statements, key=lambda statement: statement.first_line)


def _source_line(statement: CodeStatement) -> str:
    return " ".join((statement.source or statement.text).split())
