"""Which earlier rounds does a change undo? The reports of those that the rules name.

A check stops a commit, so it asks ``rules.Comparison`` alone. A draft that is written again costs
one more reply, so it also has to keep half of the behaviour that each round brought.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from treering.views.code.guard.difference import (
    Arrivals,
    RuleFinding,
    merged,
    standing_in,
)
from treering.views.code.guard.rules import Comparison, turned_steps
from treering.views.code.parse.parts import CodePart, PartKind
from treering.views.code.parse.pieces import CodePiece, DefinitionChange
from treering.views.code.rounds.history import EarlierChange, Origin

KEPT = 0.5
"""A draft that has a smaller share of the behaviour that a round brought is taken to lose it: the
nearest round number. With shares of .25 to 1, F1 on recorded dialogues is .80 to .77."""

LEFT_OUT = "most is left out"
"""What reports call this rule."""

SHOWN = 100
"""Characters of a lost part that are shown; its lines follow."""

_SAME_LINE: tuple[PartKind, ...] = ("call", "raise", "statement")
"""Of a line with other parts these say nothing more: a guard names its error, a step its call."""

Broken = Mapping[int, Mapping[str, RuleFinding]]
"""The rules that hold by their names, by the place of the earlier round in its history."""


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
    change: DefinitionChange, history: Sequence[EarlierChange], arrivals: Arrivals
) -> tuple[Reversal, ...]:
    """The rounds of ``history``, oldest first, that ``change`` takes back by a rule; newest first.

    A definition that is gone as a whole is not looked at: nobody loses one by accident.
    """
    return _reported(change, history, _broken(change, history, arrivals))


def likely_reversals(
    change: DefinitionChange, history: Sequence[EarlierChange]
) -> tuple[Reversal, ...]:
    """The rounds that a draft is likely to undo, newest first."""
    return _reported(change, history, likely_broken(change, history))


def likely_broken(change: DefinitionChange, history: Sequence[EarlierChange]) -> Broken:
    """The rules that a draft meets, with ``LEFT_OUT``."""
    now = change.after.behaviour() if change.after is not None else Counter()
    broken = dict(_broken(change, history, Arrivals.collect([change])))
    for origin, earlier in enumerate(history):
        before = earlier.before.behaviour() if earlier.before is not None else Counter()
        brought = earlier.after.behaviour() - before
        if (brought & now).total() < KEPT * brought.total():
            lost = tuple(standing_in(earlier.after, brought - now))
            broken[origin] = {**broken.get(origin, {}), LEFT_OUT: RuleFinding(lost)}
    return broken


def _broken(
    change: DefinitionChange, history: Sequence[EarlierChange], arrivals: Arrivals
) -> Broken:
    if change.before is None or change.after is None:
        return {}
    old, new = change.before, change.after
    turned = turned_steps(old, new)
    found = (Comparison(earlier, old, new, arrivals, turned).broken() for earlier in history)
    return {origin: rules for origin, rules in enumerate(found) if rules}


def _reported(
    change: DefinitionChange, history: Sequence[EarlierChange], broken: Broken
) -> tuple[Reversal, ...]:
    """A report for each round, but for those that a newer one says already."""
    if change.before is None or change.after is None:
        return ()
    reports: list[Reversal] = []
    shown: set[int] = set()
    for origin, rules in sorted(broken.items(), reverse=True):
        # What the rules name stands in the code before the change.
        old = history[origin].after if [*rules] == [LEFT_OUT] else change.before
        named = [finding for rule, finding in rules.items() if rule != LEFT_OUT]
        finding = merged(named or rules.values())
        lines = {part.first_line for part in finding.lost}
        if lines <= shown and old is change.before:
            continue
        shown |= lines
        reports.append(_report(history[origin], old, change.after, finding, tuple(rules)))
    return tuple(reports)


def _report(
    earlier: EarlierChange,
    old: CodePiece,
    new: CodePiece,
    finding: RuleFinding,
    rules: tuple[str, ...],
) -> Reversal:
    """The report that ``earlier`` is taken back: parts of ``old`` are lost, of ``new`` are back."""
    lost = finding.lost
    return Reversal(
        path=new.path,
        definition=new.qualified,
        line=max(new.line(new.header + 1), 1),
        instruction=earlier.instruction,
        name=earlier.name,
        at=earlier.at,
        origin=earlier.origin,
        lost=tuple(dict.fromkeys(map(_in_words, _telling(lost)))),
        then=_lines(old, lost),
        now=_lines(new, finding.back),
        missing=tuple(dict.fromkeys(f"{part.kind} {part.text}" for part in lost)),
        rules=rules,
    )


def _telling(lost: Sequence[CodePart]) -> Iterable[CodePart]:
    """The parts but for those that another one of their line says already."""
    lines = {part.first_line for part in lost if part.kind not in _SAME_LINE}
    once = {part.source or part.text: part for part in reversed(lost)}
    return [
        part
        for part in once.values()
        if part.kind not in _SAME_LINE or part.first_line not in lines
    ][::-1]


def _in_words(part: CodePart) -> str:
    """What a part is, in one line as it was written."""
    line = " ".join((part.source or part.text).split())
    shown = f"{line[:SHOWN]}…" if len(line) > SHOWN else line
    is_said = part.kind == "statement" or shown.startswith(part.kind)
    return shown if is_said else f"{part.kind} {shown}"


def _lines(piece: CodePiece, parts: Sequence[CodePart]) -> tuple[SourceLine, ...]:
    """The first lines of parts, as the file has them."""
    text = piece.code.splitlines()
    numbers = sorted({part.first_line for part in parts})
    return tuple(SourceLine(piece.line(n), text[n - 1].strip()) for n in numbers if n <= len(text))
