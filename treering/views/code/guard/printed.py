"""CodeMEM's detector as the paper prints it: added and deleted statements (eq. 8 to 10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treering.views.code.guard.report import Reversal, SourceLine
from treering.views.code.rounds.session import (
    SAME_INTENT,
    CodeDelta,
    CodeStatement,
    SessionBlock,
    Similarity,
    change,
)


def conflicts(
    blocks: Sequence[SessionBlock],
    instruction: str,
    code: str,
    similarity: Similarity,
    alike: float = SAME_INTENT,
) -> list[tuple[SessionBlock, CodeDelta]]:
    """Blocks of another intent that Δ, the change from the last block to ``code``, contradicts.

    Each comes with the part of Δ that reverses its change. ``blocks`` is one memory sequence,
    oldest first, and ``alike`` is τ.
    """
    if not blocks:
        return []
    now = change(blocks[-1].code, code, blocks[-1].language)
    asked = (block for block in blocks if block.instruction)
    others = (block for block in asked if similarity(instruction, block.instruction) < alike)
    pairs = ((block, now.reversing(block.change)) for block in others)
    return [(block, delta) for block, delta in pairs if delta.added or delta.deleted]


def printed_reversals(
    blocks: Sequence[SessionBlock],
    instruction: str,
    code: str,
    similarity: Similarity,
    alike: float = SAME_INTENT,
) -> tuple[Reversal, ...]:
    """The conflicting blocks as reports, newest first."""
    reports = []
    for block, delta in reversed(conflicts(blocks, instruction, code, similarity, alike)):
        lost, back = _lines(delta.deleted), _lines(delta.added)
        texts = tuple(line.text for line in lost)
        reports.append(
            Reversal(
                path=block.path,
                definition=block.definition,
                line=1,
                instruction=block.instruction,
                name=block.id,
                at=block.at,
                origin="round",
                lost=texts,
                then=lost,
                now=back,
                missing=texts,
                rules=("as printed",),
            )
        )
    return tuple(reports)


def _lines(statements: Iterable[CodeStatement]) -> tuple[SourceLine, ...]:
    ordered = sorted(statements, key=lambda statement: statement.first_line)
    return tuple(
        SourceLine(each.first_line, " ".join((each.source or each.text).split()))
        for each in ordered
    )
