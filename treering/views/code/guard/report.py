"""Which earlier rounds does a change undo?

A check stops a commit, so it asks the rules of ``rules.Comparison``. Another draft costs one more
reply, so a draft only has to keep half of the behaviour that each round brought.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from treering.views.code.guard.rules import Comparison, parts_in_order, parts_of
from treering.views.code.parse.parts import CodePart, Parts
from treering.views.code.parse.pieces import CodePiece, DefinitionChange
from treering.views.code.parse.syntax import CodeStatement
from treering.views.code.rounds.history import EarlierChange, Origin
from treering.views.code.rounds.session import SessionBlock, Similarity, conflicts

KEPT = 0.5
"""A draft that has a smaller share of the behaviour that a round brought loses it: the nearest
round number. With shares of .25 to 1, F1 on recorded dialogues is .80 to .77."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a file, and which."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Reversal:
    """An earlier round that a change takes back, in one definition.

    ``then`` are the lines that it loses, as they stood before the change, ``now`` the lines that
    are there instead: none where the others are just gone.
    """

    path: str
    definition: str
    line: int
    instruction: str
    name: str
    at: datetime | None
    origin: Origin
    then: tuple[SourceLine, ...]
    now: tuple[SourceLine, ...]

    def __str__(self) -> str:
        return "; ".join([self.instruction, *(f"missing: {line.text}" for line in self.then)])


def reversals(
    change: DefinitionChange, history: Sequence[EarlierChange], arrived: Parts
) -> tuple[Reversal, ...]:
    """The rounds of ``history``, oldest first, that ``change`` undoes by a rule; newest first.

    A round that only loses lines of a newer report is left out, and so is a definition that is
    deleted: nobody loses a whole one by accident.
    """
    if change.before is None or change.after is None:
        return ()
    old, new = change.before, change.after
    reports: list[Reversal] = []
    reported: set[int] = set()
    for earlier in reversed(history):
        lost, back = Comparison(earlier, old, new, arrived).undone_parts()
        lines = {part.first_line for part in lost}
        if not lines <= reported:
            reported |= lines
            reports.append(_report(earlier, new, _lines(old, lost), _lines(new, back)))
    return tuple(reports)


def likely_reversals(draft: CodePiece, history: Sequence[EarlierChange]) -> tuple[Reversal, ...]:
    """The rounds of which a draft has lost most, newest first."""
    return tuple(
        _report(earlier, draft, _lines(earlier.after, lost), ())
        for earlier in reversed(history)
        if (lost := mostly_lost(earlier, draft))
    )


def printed_reversals(
    blocks: Sequence[SessionBlock],
    instruction: str,
    code: str,
    similarity: Similarity,
    alike: float,
) -> tuple[Reversal, ...]:
    """The rounds that a draft undoes as the paper prints it (eq. 8 to 10), newest first."""
    reports = []
    for block, delta in reversed(conflicts(blocks, instruction, code, similarity, alike)):
        then, now = _statement_lines(delta.deleted), _statement_lines(delta.added)
        where, asked = (block.path, block.definition, 1), (block.instruction, block.id, block.at)
        reports.append(Reversal(*where, *asked, "round", then, now))
    return tuple(reports)


def _statement_lines(statements: Iterable[CodeStatement]) -> tuple[SourceLine, ...]:
    return tuple(
        SourceLine(each.first_line, " ".join(each.source.split()))
        for each in sorted(statements, key=lambda statement: statement.first_line)
    )


def mostly_lost(earlier: EarlierChange, draft: CodePiece) -> list[CodePart]:
    """The parts that a round brought to a function and a draft lacks, if it keeps too few.

    Behaviour is compared, or all parts if the round brought no behaviour, such as a lock.
    """
    before, after = earlier.before, earlier.after
    brought = after.behaviour() - (before.behaviour() if before is not None else Counter())
    now = draft.behaviour()
    if not brought and after.is_function:
        brought, now = parts_of(after) - parts_of(before), parts_of(draft)
    if (brought & now).total() >= KEPT * brought.total():
        return []
    return parts_in_order(after, brought - now)


def _report(
    earlier: EarlierChange,
    new: CodePiece,
    then: tuple[SourceLine, ...],
    now: tuple[SourceLine, ...],
) -> Reversal:
    """The report that ``new`` undoes ``earlier``."""
    return Reversal(
        path=new.path,
        definition=new.qualified,
        line=max(new.line(new.header + 1), 1),
        instruction=earlier.instruction,
        name=earlier.name,
        at=earlier.at,
        origin=earlier.origin,
        then=then,
        now=now,
    )


def _lines(piece: CodePiece, parts: Sequence[CodePart]) -> tuple[SourceLine, ...]:
    """The first lines of parts, as the file has them."""
    text = piece.code.splitlines()
    numbers = sorted({part.first_line for part in parts})
    return tuple(SourceLine(piece.line(n), text[n - 1].strip()) for n in numbers if n <= len(text))
