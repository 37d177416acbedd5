"""Which earlier rounds does a change undo?

A check stops a commit, so it asks the rules of ``rules.Comparison``. Another draft costs one more
reply, so a draft only has to keep half of the behaviour that each round brought.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from treering.views.code.guard.rules import (
    Comparison,
    parts_in_order,
    parts_of,
)
from treering.views.code.parse.parts import CodePart, PartKind, Parts
from treering.views.code.parse.pieces import CodePiece, DefinitionChange
from treering.views.code.rounds.history import EarlierChange, Origin
from treering.views.code.rounds.session import CodeStatement, SessionBlock, Similarity, conflicts

KEPT = 0.5
"""A draft that has a smaller share of the behaviour that a round brought loses it: the nearest
round number. With shares of .25 to 1, F1 on recorded dialogues is .80 to .77."""

LEFT_OUT = "most is left out"
"""The name of this rule in reports."""

SHOWN = 100
"""Characters of a lost part that are shown; its lines follow."""

_SAME_LINE: tuple[PartKind, ...] = ("call", "raise")
"""Of a line with other parts these say nothing more: a guard names its error, a step its call."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a file, and which."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Reversal:
    """An earlier round that a change takes back, in one definition.

    ``lost`` says what the round had brought, by its kind and as it was written; ``missing`` says
    the same as it is compared, with parameters numbered and other names dropped.
    ``then`` are lines as they stood before the change, ``now`` the lines that are there instead:
    none where the others are just gone. ``rules`` are the rules that the change meets.
    """

    path: str
    definition: str
    line: int
    instruction: str
    name: str
    at: datetime | None
    origin: Origin
    lost: tuple[str, ...]
    then: tuple[SourceLine, ...]
    now: tuple[SourceLine, ...]
    missing: tuple[str, ...]
    rules: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join([self.instruction, *(f"missing: {part}" for part in self.missing)])


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
        rules = Comparison(earlier, old, new, arrived).broken()
        lost = _each_once(part for parts, _ in rules.values() for part in parts)
        lines = {part.first_line for part in lost}
        if rules and not lines <= reported:
            reported |= lines
            back = _each_once(part for _, parts in rules.values() for part in parts)
            reports.append(_report(earlier, old, new, lost, back, tuple(rules)))
    return tuple(reports)


def likely_reversals(
    change: DefinitionChange, history: Sequence[EarlierChange]
) -> tuple[Reversal, ...]:
    """The rounds of which a draft has lost most, newest first; ``change.after`` is the draft."""
    if change.before is None or change.after is None:
        return ()
    new = change.after
    return tuple(
        _report(earlier, earlier.after, new, _each_once(lost), (), (LEFT_OUT,))
        for earlier in reversed(history)
        if (lost := mostly_lost(earlier, new))
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
        lost = tuple(line.text for line in then)
        where, asked = (block.path, block.definition, 1), (block.instruction, block.id, block.at)
        report = Reversal(*where, *asked, "round", lost, then, now, lost, rules=("as printed",))
        reports.append(report)
    return tuple(reports)


def _statement_lines(statements: Iterable[CodeStatement]) -> tuple[SourceLine, ...]:
    return tuple(
        SourceLine(each.first_line, " ".join((each.source or each.text).split()))
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


def _each_once(parts: Iterable[CodePart]) -> tuple[CodePart, ...]:
    """Each part once, by line."""
    return tuple(dict.fromkeys(sorted(parts, key=lambda part: part.first_line)))


def _report(
    earlier: EarlierChange,
    old: CodePiece,
    new: CodePiece,
    lost: tuple[CodePart, ...],
    back: tuple[CodePart, ...],
    rules: tuple[str, ...],
) -> Reversal:
    """The report that a change undoes ``earlier``: parts of ``old`` are lost, of ``new`` back."""
    return Reversal(
        path=new.path,
        definition=new.qualified,
        line=max(new.line(new.header + 1), 1),
        instruction=earlier.instruction,
        name=earlier.name,
        at=earlier.at,
        origin=earlier.origin,
        lost=tuple(dict.fromkeys(map(_in_words, _main_parts(lost)))),
        then=_lines(old, lost),
        now=_lines(new, back),
        missing=tuple(dict.fromkeys(f"{part.kind} {part.text}" for part in lost)),
        rules=rules,
    )


def _main_parts(lost: Sequence[CodePart]) -> Iterable[CodePart]:
    """The parts but for those that another one of their line says already."""
    lines = {part.first_line for part in lost if part.kind not in _SAME_LINE}
    once = {part.source or part.text: part for part in reversed(lost)}
    return [
        part
        for part in once.values()
        if part.kind not in _SAME_LINE or part.first_line not in lines
    ][::-1]


def _in_words(part: CodePart) -> str:
    line = " ".join((part.source or part.text).split())
    shown = f"{line[:SHOWN]}…" if len(line) > SHOWN else line
    return shown if shown.startswith(part.kind) else f"{part.kind} {shown}"


def _lines(piece: CodePiece, parts: Sequence[CodePart]) -> tuple[SourceLine, ...]:
    """The first lines of parts, as the file has them."""
    text = piece.code.splitlines()
    numbers = sorted({part.first_line for part in parts})
    return tuple(SourceLine(piece.line(n), text[n - 1].strip()) for n in numbers if n <= len(text))
