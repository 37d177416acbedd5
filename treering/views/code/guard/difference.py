"""What an earlier change of a definition did, and what is left of it: bags of parts compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Self

from treering.views.code.parse.parts import BEHAVIOUR, CodePart, Parts
from treering.views.code.parse.pieces import CodePiece, DefinitionChange


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What a change brings anywhere: parts, and names of new definitions by file.

    What is lost in one definition may be found in another.
    """

    parts: Parts
    names: Mapping[str, Set[str]]

    @classmethod
    def collect(cls, changes: Sequence[DefinitionChange]) -> Self:
        """The arrivals of all definitions that change."""
        parts: Parts = Counter()
        names: dict[str, set[str]] = {}
        for change in changes:
            parts += parts_of(change.after) - parts_of(change.before)
            if change.after is not None and change.before is None:
                inside = names.setdefault(change.after.path, set())
                inside.add(change.after.qualified.rpartition(".")[2])
        return cls(parts, names)


def parts_of(piece: CodePiece | None) -> Parts:
    """All that is compared of a piece, without order; nothing of none."""
    return Counter(piece.parts()) if piece is not None else Counter()


def only_behaviour(parts: Parts) -> Parts:
    """Of a bag the parts that shares are counted of."""
    return Counter({part: n for part, n in parts.items() if part.kind in BEHAVIOUR})


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """What a rule found: parts of the old code that are ``lost``, of the new that are ``back``."""

    lost: tuple[CodePart, ...] = ()
    back: tuple[CodePart, ...] = ()


class Difference:
    """Four states of a definition: before and after the earlier change, then and now.

    ``came`` is what the earlier change brought and what was still there then, ``lost`` is what of
    it is nowhere now; ``replaced`` is what it replaced, ``back`` what of that has returned.
    """

    def __init__(self, states: Sequence[Parts], arrived: Parts) -> None:
        before, after, then, now = states
        self.before, self.then, self.now = before, then, now
        self.came = (after - before) & then
        self.lost = self.came - now - arrived
        self.replaced = before - after
        self.back = (self.replaced - then) & now
        self.fresh = now - then


def standing_in(piece: CodePiece, parts: Parts) -> Iterator[CodePart]:
    """Where parts stand in a piece, as often as they are meant."""
    left = Counter(parts)
    for part in piece.parts():
        if left[part] > 0:
            left[part] -= 1
            yield part


def merged(broken: Iterable[RuleFinding]) -> RuleFinding:
    """All that several rules found, each part once."""
    some = list(broken)
    lost = dict.fromkeys(_by_line(part for finding in some for part in finding.lost))
    back = dict.fromkeys(_by_line(part for finding in some for part in finding.back))
    return RuleFinding(tuple(lost), tuple(back))


def _by_line(parts: Iterable[CodePart]) -> list[CodePart]:
    return sorted(parts, key=lambda part: part.first_line)
