"""Which earlier round does a change undo? For rounds of which only code and wording are known.

The paper's rule (eq. 9) flags a change that deletes what a round added or adds what it deleted.
People rewrite freely, so more is asked for here: what is lost must bear behaviour (guards, what is
raised, branches, defaults and the like, not any statement), it must be this change that loses it,
it must not turn up elsewhere in the change, and the change must go back: the definition is again
what it was before the round, or much of what the round had replaced returns, or an error that the
round taught it to raise or to catch is gone from it altogether.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from treering.code.behaviour import Part, PartKind, Parts, behaviour
from treering.code.changes import DefinitionChange, Piece
from treering.code.diff import Statement, statements
from treering.code.session import SessionBlock

Origin = Literal["round", "commit"]

TELLING: frozenset[PartKind] = frozenset({"guard", "raise", "branch", "default", "decorator"})
"""One such part that goes back is enough; of returns, calls and effects it takes ``SEVERAL``, for
single ones come and go with every rewrite."""
SEVERAL = 3

GOES_BACK = 0.5
"""The least share of what a round replaced that returns, and of what it brought that goes: from
here on a definition is nearer to what it was before the round than to what it was after it."""

SHOWN = 100
"""Characters of a lost part that are told; its lines follow."""

REJECTED = "rejected"
"""The outcome of a round that may be undone."""

_CATCHES = ("except", "catch", "rescue")
_MEMORY = 4096  # behaviours kept: a file's history has the same versions again and again


@dataclass(frozen=True, slots=True)
class Brought:
    """What an earlier round did to one definition: its code before (if any) and after.

    ``name`` is how it is cited: a commit, or the id of a recorded block.
    """

    instruction: str
    name: str
    at: datetime | None
    origin: Origin
    before: Piece | None
    after: Piece


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, and which."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Undone:
    """An earlier round that a change takes back, in one definition.

    ``lost`` says what the round had brought, by its kind and as it was written; ``missing`` says
    the same as it is compared, with parameters numbered and other names dropped.
    ``then`` are lines as they stood before the change, ``now`` the lines that are there instead:
    none where the others are just gone.
    """

    path: str
    definition: str
    line: int
    instruction: str
    name: str
    at: datetime | None
    origin: Origin
    lost: tuple[str, ...]
    then: tuple[Line, ...]
    now: tuple[Line, ...]
    missing: tuple[str, ...]


def brought(blocks: Sequence[SessionBlock]) -> list[Brought]:
    """What the rounds of one sequence did, oldest first; those that were rejected do not count."""
    found = []
    earlier: SessionBlock | None = None
    for block in blocks:
        if block.instruction and block.code and block.outcome != REJECTED:
            was = piece_of(earlier) if earlier is not None and earlier.code else None
            now = piece_of(block)
            found.append(Brought(block.instruction, block.id, block.at, "round", was, now))
        earlier = block
    return found


def piece_of(block: SessionBlock) -> Piece:
    """The definition that a block left; on which lines of its file is not known."""
    runs = behaviour(block.code, block.definition, block.language) is not None
    return Piece(block.path, block.definition, block.language, block.code, is_function=runs)


def undone(
    change: DefinitionChange, history: Sequence[Brought], moved: Parts
) -> tuple[Undone, ...]:
    """The rounds of ``history``, oldest first, that ``change`` takes back; newest first.

    ``moved`` are parts that the whole change brings anywhere (see ``arrivals``). A definition that
    is gone as a whole is not looked at: nobody loses one by accident.
    """
    if change.before is None or change.after is None:
        return ()
    taken_back = _in_function if change.after.is_function else _in_statements
    found: dict[tuple[str, ...], Undone] = {}
    for round_ in reversed(history):
        for one in taken_back(change.before, change.after, round_, moved):
            found.setdefault(one.missing, one)
    return tuple(found.values())


def arrivals(found: Iterable[DefinitionChange]) -> Parts:
    """The parts that a change brings to any definition: what is lost in one may be in another."""
    come: Parts = Counter()
    for one in found:
        come += parts_of(one.after) - parts_of(one.before)
    return come


def parts_of(piece: Piece | None) -> Parts:
    """The behaviour-bearing parts of a function; none of what is none."""
    if piece is None or not piece.is_function:
        return Counter()
    return Counter(_parts(piece.code, piece.qualified, piece.language))


@lru_cache(_MEMORY)
def _parts(code: str, name: str, language: str) -> tuple[Part, ...]:
    found = behaviour(code, name, language)
    return tuple(part for part in found.parts if part.kind != "signature") if found else ()


def _in_function(old: Piece, new: Piece, round_: Brought, moved: Parts) -> Iterator[Undone]:
    before, after = parts_of(round_.before), parts_of(round_.after)
    then, now = parts_of(old), parts_of(new)
    came = (after - before) & then
    lost = came - now - moved
    if not lost:
        return
    replaced = before - after
    back = (replaced - then) & now
    if before == now or _is_reversal(came, lost, replaced, back):
        yield as_undone(old, new, round_, _in(old, lost), _in(new, back))
        return
    # What a commit that created a definition had in it may have been there for no reason.
    is_asked = round_.before is not None or round_.origin == "round"
    if is_asked and (dropped := _dropped(lost, then, now, moved)):
        yield as_undone(old, new, round_, _in(old, dropped), ())


def _is_reversal(came: Parts, lost: Parts, replaced: Parts, back: Parts) -> bool:
    """Whether what a round replaced has returned in the place of what it brought."""
    telling = any(part.kind in TELLING for part in back) and any(
        part.kind in TELLING for part in lost
    )
    return (
        (telling or back.total() >= SEVERAL)
        and back.total() >= GOES_BACK * replaced.total()
        and lost.total() >= GOES_BACK * came.total()
    )


def _dropped(lost: Parts, then: Parts, now: Parts, moved: Parts) -> Parts:
    """Lost errors, raised or caught, that no longer are under any condition, nor others instead."""
    dropped: Parts = Counter()
    for is_error in (_is_raise, _is_catch):
        left = {part for part in (*now, *moved) if is_error(part)}
        fewer = _count(now, is_error) < _count(then, is_error)
        gone = {part: n for part, n in lost.items() if is_error(part) and part not in left}
        if fewer and (is_error is _is_raise or not left):
            dropped += Counter(gone)
    return dropped


def _is_raise(part: Part) -> bool:
    return part.kind == "raise" and bool(part.text)


def _is_catch(part: Part) -> bool:
    return part.kind == "branch" and part.text.startswith(_CATCHES)


def _count(parts: Parts, counts: Callable[[Part], bool]) -> int:
    return sum(n for part, n in parts.items() if counts(part))


def _in_statements(old: Piece, new: Piece, round_: Brought, _moved: Parts) -> Iterator[Undone]:
    """For the statements of a class or file: a value that is set back to what it was."""
    before, after = _settings(round_.before), _settings(round_.after)
    then, now = _settings(old), _settings(new)
    names = [
        name
        for name in then
        if name in before and name in after and name in now
        if before[name].text == now[name].text != then[name].text == after[name].text
    ]
    if names:
        yield as_undone(old, new, round_, [then[n] for n in names], [now[n] for n in names])


def _settings(piece: Piece | None) -> dict[str, Statement]:
    """What the statements of a class or file set, by name."""
    if piece is None:
        return {}
    found = ((one.text.partition(" = "), one) for one in _statements(piece.code, piece.language))
    return {name: one for (name, is_set, _), one in found if is_set}


@lru_cache(_MEMORY)
def _statements(code: str, language: str) -> tuple[Statement, ...]:
    return statements(code, language)


def _in(piece: Piece, parts: Parts) -> list[Part]:
    return standing(_parts(piece.code, piece.qualified, piece.language), parts)


def standing(there: Sequence[Part], parts: Parts) -> list[Part]:
    """Where parts stand among those that are there, as often as they are meant."""
    left = Counter(parts)
    found = []
    for part in there:
        if left[part] > 0:
            left[part] -= 1
            found.append(part)
    return found


def as_undone(
    old: Piece,
    new: Piece,
    round_: Brought,
    lost: Sequence[Part | Statement],
    back: Sequence[Part | Statement],
) -> Undone:
    """The report that a change from ``old`` to ``new`` takes back a round, with lines of both."""
    return Undone(
        path=new.path,
        definition=new.qualified,
        line=max(new.line(new.header + 1), 1),
        instruction=round_.instruction,
        name=round_.name,
        at=round_.at,
        origin=round_.origin,
        lost=tuple(dict.fromkeys(map(_in_words, lost))),
        then=_lines(old, lost),
        now=_lines(new, back),
        missing=tuple(dict.fromkeys(map(_compared, lost))),
    )


def _compared(one: Part | Statement) -> str:
    return f"{one.kind} {one.text}" if isinstance(one, Part) else one.text


def _in_words(one: Part | Statement) -> str:
    """What a part is, in one line as it was written."""
    line = " ".join((one.source or one.text).split())
    said = f"{line[:SHOWN]}…" if len(line) > SHOWN else line
    if isinstance(one, Part) and not said.startswith(one.kind):
        return f"{one.kind} {said}"
    return said


def _lines(piece: Piece, standing: Sequence[Part | Statement]) -> tuple[Line, ...]:
    """The first lines of parts, as the file has them."""
    text = piece.code.splitlines()
    numbers = sorted({one.first_line for one in standing})
    return tuple(Line(piece.line(n), text[n - 1].strip()) for n in numbers if n <= len(text))
