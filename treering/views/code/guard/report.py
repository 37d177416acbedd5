"""The report of one earlier round that a change undoes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from treering.views.code.guard.scorer import Reason
from treering.views.code.parse.parts import CodePart, PartKind
from treering.views.code.parse.pieces import CodePiece
from treering.views.code.rounds.history import EarlierChange, Origin

SHOWN = 100
"""Characters of a lost part that are shown; its lines follow."""

_SAME_LINE: tuple[PartKind, ...] = ("call", "raise", "statement")
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
    none where the others are just gone. ``probability`` (0 to 1) is the scorer's, and ``reasons``
    are the evidence that speaks for it, the strongest first.
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
    probability: float = 1.0
    reasons: tuple[Reason, ...] = ()

    def __str__(self) -> str:
        return "; ".join([self.instruction, *(f"missing: {part}" for part in self.missing)])


def reversal(
    earlier: EarlierChange,
    old: CodePiece,
    new: CodePiece,
    lost: Sequence[CodePart],
    back: Sequence[CodePart],
    probability: float,
    reasons: tuple[Reason, ...],
) -> Reversal:
    """The report that a change from ``old`` to ``new`` takes ``earlier`` back.

    ``lost`` are parts of the old code, ``back`` of the new.
    """
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
        now=_lines(new, back),
        missing=tuple(dict.fromkeys(f"{part.kind} {part.text}" for part in lost)),
        probability=round(probability, 4),
        reasons=reasons,
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
