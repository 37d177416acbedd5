"""What a question asks for beside its words: when, by whom, and by what rule.

These are bonuses in the scale of the own score, each a term of ``hit.why``. They leave the order
alone among those that get one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Floats
from treering.parallel import for_each_piece
from treering.search.periods import Period, periods
from treering.search.related import ASSISTANT, USER, weight_of_rows
from treering.search.relations.asked import Role, When, Wish
from treering.search.relations.registry import Plan
from treering.search.snapshot import Cosines, Snapshot
from treering.search.terms import terms

Mask = NDArray[np.bool_]


MOST_CUT: Final = 4.0
"""Pieces a message up to which what is asked of users and assistants counts the more. Beyond, own
scores grow no wider: times 20 a question with "my" left out all that assistants say."""

WISH_WORDS: Final = ("always", "prefer")
"""What users say of what they want from now on; "preference" has the stem of "prefer"."""

MOST_WISHES: Final = 20_000
"""Turns with such a word, from which on it tells nothing and costs time."""

_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|we've|our|us)\b")
_DONE = (
    "recommended|suggested|advised|said|told|gave|given|mentioned|listed|proposed|explained|"
    "described|provided|outlined|helped|wrote|written|made|showed|shown|named|called|answered"
)
_DO = (
    "recommend|suggest|advise|say|tell|give|mention|list|propose|explain|describe|provide|outline|"
    "help|write|make|show|name|call|answer"
)
_OF_ASSISTANT = re.compile(
    rf"\byou(?:'ve|'d| have| had| just| already| once)*(?: \w+ly)? (?:{_DONE})\b"
    rf"|\bdid you(?: \w+ly)? (?:{_DO})\b"
)
_OF_BOTH = re.compile(r"\b(?:summar\w+|overview|recap)\b")


@dataclass(frozen=True, slots=True)
class BonusTerm:
    """A bonus for some rows; ``rows`` has masks of shape (N,) by query, None for no rows.

    ``bonus`` is one for all, or shape (N,). ``shares`` is what queries get of it.
    """

    rows: Sequence[Mask | None]
    bonus: np.float32 | Floats
    shares: Sequence[float]

    def at(self, row: int, query: int) -> float:
        """That of one row for one query."""
        mask = self.rows[query]
        if mask is None or not mask[row]:
            return 0.0
        bonus = self.bonus if isinstance(self.bonus, np.float32) else self.bonus[row]
        return self.shares[query] * float(bonus)

    def among(self, cosines: Cosines | None) -> BonusTerm:
        """The bonus for the rows whose cosines are known.

        With it the others, at the mean of all, would come before the rows that answer the query,
        in the order of their arrival.
        """
        if cosines is None or cosines.spread is None:
            return self
        masks = [None if mask is None else np.zeros_like(mask) for mask in self.rows]
        for narrow, mask, of_query in zip(masks, self.rows, cosines.known, strict=True):
            if narrow is not None and mask is not None:
                narrow[of_query] = mask[of_query]
        return replace(self, rows=masks)

    def add_to(self, total: Floats, share: Floats | None) -> None:
        """Add it to scores of shape (N, Q), times ``share``, shape (N,), if it is given."""
        bonus = self.bonus if share is None else self.bonus * share
        for column, mask, of_query in zip(total.T, self.rows, self.shares, strict=True):
            if mask is not None:
                add = partial(_add_where, column, mask, bonus, np.float32(of_query))
                for_each_piece(add, len(column))


def _add_where(
    column: Floats, mask: Mask, bonus: np.float32 | Floats, times: np.float32, rows: slice
) -> None:
    added = bonus if isinstance(bonus, np.float32) else bonus[rows]
    column[rows] += mask[rows] * (added * times)


def bonuses(
    snapshot: Snapshot, plan: Plan, queries: Sequence[str], cut: float, now: datetime | None
) -> dict[str, BonusTerm]:
    """The terms of what queries ask for, by the names of their relations.

    ``cut`` is how many pieces a message of a chat is cut into: the more there are the wider scores
    are spread, and with them what is asked of users and assistants. ``now`` is an aware time from
    which "last week" counts; None for the local clock.
    """
    cut = min(cut, MOST_CUT)
    by_name: dict[str, BonusTerm] = {}
    ones = [1.0] * len(queries)
    when = weight_of_rows(snapshot, plan, When)
    if when is not None:
        clock = now or datetime.now()
        rows = [_when(snapshot, query, clock) for query in queries]
        # A time that holds nearly all tells nothing: the bonus is the smaller the longer it is.
        shares = [0.0 if mask is None else 1 - float(mask.mean()) for mask in rows]
        by_name[When().name] = BonusTerm(rows, when, shares)
    role = weight_of_rows(snapshot, plan, Role, cut)
    if role is not None:
        by_name[Role().name] = BonusTerm(_roles(snapshot, queries), role, ones)
    wish = weight_of_rows(snapshot, plan, Wish, cut)
    if wish is not None:
        rows = [_wishes(snapshot)] * len(queries)
        by_name[Wish().name] = BonusTerm(rows, wish, ones)
    return {
        name: term for name, term in by_name.items() if any(mask is not None for mask in term.rows)
    }


def _when(snapshot: Snapshot, query: str, now: datetime) -> Mask | None:
    """The rows of the times that a query names.

    In a chat of years ago nothing is of "last week": it then counts from the newest row.
    """
    at = snapshot.items.at
    if not periods(query, now):
        return None
    # A speaker may be called April.
    names = frozenset(word for name in snapshot.speakers for word in name.lower().split())
    named = periods(query, now, names)
    if not named:
        return None
    mask = _within(snapshot, named)
    if mask is None:
        newest = np.fmax.reduce(at, initial=-np.inf)
        if newest > 0:
            then = datetime.fromtimestamp(float(newest), now.tzinfo)
            mask = _within(snapshot, periods(query, then, names))
    return mask


def _within(snapshot: Snapshot, named: Sequence[Period]) -> Mask | None:
    mask = np.zeros(len(snapshot), dtype=np.bool_)

    def look(rows: slice) -> None:
        at = snapshot.items.at[rows]
        on_own_clock = at + 60.0 * snapshot.zone[rows]
        for period in named:
            time = on_own_clock if period.is_by_calendar else at
            mask[rows] |= (time >= period.start) & (time < period.end)

    for_each_piece(look, len(mask))
    return mask if mask.any() else None


def _sides(snapshot: Snapshot) -> dict[str, int] | None:
    """The codes of the speakers of a chat of a user and an assistant; None for other chats."""
    codes = {name: code for code, name in enumerate(snapshot.speakers)}
    return codes if USER in codes and ASSISTANT in codes else None


def _roles(snapshot: Snapshot, queries: Sequence[str]) -> list[Mask | None]:
    """The rows of whom queries ask of a chat of a user and an assistant."""
    codes = _sides(snapshot)
    if codes is None:
        return [None] * len(queries)
    sides = [side_of(query) for query in queries]
    masks = {side: snapshot.items.speaker == codes[side] for side in set(sides) if side}
    return [masks[side] if side else None for side in sides]


def side_of(query: str) -> str | None:
    """Whom a query asks of: the user, the assistant, or None for both."""
    plain = query.lower().replace("\u2019", "'")
    if _OF_BOTH.search(plain):
        return None
    if _OF_ASSISTANT.search(plain):
        return ASSISTANT
    return USER if _FIRST_PERSON.search(plain) else None


def _wishes(snapshot: Snapshot) -> Mask | None:
    """The turns of users, of chats with an assistant, that say what they always want."""
    codes = _sides(snapshot)
    if codes is None:
        return None
    mask = np.zeros(len(snapshot), dtype=np.bool_)
    words = [terms(word)[:, 0] for word in WISH_WORDS]
    for rows, _ in snapshot.lexical.holders(words, MOST_WISHES):
        mask[rows[snapshot.items.speaker[rows] == codes[USER]]] = True
    return mask if mask.any() else None
