"""Signals of a question: the time, the side of a chat, the rule or the speaker that it asks for.

They are bonuses in the scale of the base score.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final

import numpy as np

from treering.arrays import Codes, Floats, for_each_piece
from treering.search.periods import Period, periods
from treering.search.ranking import Ranking, RowValues, Stage
from treering.search.relations.contract import ASSISTANT, USER
from treering.search.snapshot import Mask, Snapshot, named_speakers
from treering.search.terms import ASKS, terms

MOST_CUT: Final = 3.0
"""Pieces a message up to which the weights of role and wish grow: times 4, a question with "my"
found no turn of an assistant."""

WISH_WORDS: Final = ("always", "prefer")  # "preference" has the stem of "prefer"
MOST_WISHES: Final = 20_000  # turns with such a word beyond which it does not count

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
class When:
    """A question that names a time asks for entries of that time."""

    stage: ClassVar[Stage] = Stage.QUESTION
    is_evidence: ClassVar[bool] = False

    name: str = "when"

    def contribute(self, ranking: Ranking) -> RowValues | None:
        """A bonus for the rows of that time, the smaller the more rows it holds."""
        weight = ranking.weight(self.name)
        if weight is None:
            return None
        clock = ranking.search.condition.as_of or datetime.now()
        mask = _when(ranking.snapshot, ranking.search.query, clock)
        share = 0.0 if mask is None else 1 - float(mask.mean())
        return None if mask is None else RowValues(mask, weight * np.float32(share))


@dataclass(frozen=True, slots=True)
class Role:
    """A question that says "I" asks for the user's turns, "you recommended" for the assistant's.

    Its weight grows with the pieces of a message, as scores are spread wider.
    """

    stage: ClassVar[Stage] = Stage.QUESTION
    is_evidence: ClassVar[bool] = False

    name: str = "role"

    def contribute(self, ranking: Ranking) -> RowValues | None:
        """A bonus for the turns of the side that a question asks of."""
        codes, weight = _sides(ranking.snapshot), _side_weight(ranking, self.name)
        side = side_of(ranking.search.query)
        if codes is None or weight is None or side is None:
            return None
        return RowValues(ranking.snapshot.items.speaker == codes[side], weight)


@dataclass(frozen=True, slots=True)
class Wish:
    """A rule that a user wants always concerns every question that it is near to."""

    stage: ClassVar[Stage] = Stage.QUESTION
    is_evidence: ClassVar[bool] = False

    name: str = "wish"

    def contribute(self, ranking: Ranking) -> RowValues | None:
        """A bonus for the turns of users that say what they always want."""
        codes, weight = _sides(ranking.snapshot), _side_weight(ranking, self.name)
        if codes is None or weight is None:
            return None
        snapshot = ranking.snapshot
        mask = np.zeros(len(snapshot), dtype=np.bool_)
        words = [terms(word)[:, 0] for word in WISH_WORDS]
        for rows, _ in snapshot.lexical.holders(words, MOST_WISHES):
            mask[rows[snapshot.items.speaker[rows] == codes[USER]]] = True
        return RowValues(mask, weight) if mask.any() else None


@dataclass(frozen=True, slots=True)
class NamedSpeaker:
    """A question that names a speaker, "What did Ana say about …", asks for the turns of Ana."""

    stage: ClassVar[Stage] = Stage.ROWS
    is_evidence: ClassVar[bool] = True

    name: str = "named"

    def contribute(self, ranking: Ranking) -> RowValues | None:
        """A bonus for the turns of the speakers that are named."""
        weight, snapshot = ranking.weight(self.name), ranking.snapshot
        if weight is None or ranking.search.mode == "dense":
            return None
        codes = named_speakers(snapshot.speakers, ranking.search.query)
        if not codes:
            return None
        speaker, mask = snapshot.items.speaker, np.zeros(len(snapshot), dtype=np.bool_)

        def look(rows: slice) -> None:
            for code in codes:
                mask[rows] |= speaker[rows] == code

        for_each_piece(look, len(speaker))
        return RowValues(mask, weight)


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """The reply to a question answers one like it, and need not share a word with either."""

    stage: ClassVar[Stage] = Stage.ROWS
    is_evidence: ClassVar[bool] = False

    name: str = "reply"

    def contribute(self, ranking: Ranking) -> RowValues | None:
        """The base score of the turn before, if that has a question mark and another speaker."""
        weight, snapshot = ranking.weight(self.name), ranking.snapshot
        is_partial = ranking.cosines is not None and ranking.cosines.spread is not None
        if weight is None or is_partial or snapshot.items.reading is None:
            return None
        rows, before = replies(snapshot)
        weights = weight if isinstance(weight, np.float32) else weight[rows]
        return RowValues(rows, weights * np.maximum(ranking.scores[before], 0))


def replies(snapshot: Snapshot) -> tuple[Codes, Codes]:
    """Return the rows that reply to a question, and the rows of the questions.

    A reply is the next turn of the session, by another speaker.
    """
    items, reading = snapshot.items, snapshot.items.reading
    assert reading is not None  # the snapshot of a space has it
    [(asking, _)] = snapshot.lexical.holders([terms(ASKS)[:, 0]], len(snapshot))
    if reading.is_plain:
        after = asking + 1
    else:
        after = reading.places(items.document[asking], items.position[asking]) + 1
    is_linked = after < len(reading)
    asking, after = asking[is_linked], after[is_linked]
    rows = reading.rows[after].astype(np.int64)
    is_reply = reading.continues[after] & (items.speaker[rows] != items.speaker[asking])
    return rows[is_reply], asking[is_reply]


def _side_weight(ranking: Ranking, name: str) -> np.float32 | Floats | None:
    return ranking.weight(name, min(ranking.cut, MOST_CUT))


def _when(snapshot: Snapshot, query: str, now: datetime) -> Mask | None:
    """Return the rows of the times that a query names.

    In a chat of years ago nothing is of "last week": it then counts from the newest row.
    """
    if not periods(query, now):
        return None
    # A speaker may be called April.
    names = frozenset(word for name in snapshot.speakers for word in name.lower().split())
    named = periods(query, now, names)
    mask = _within(snapshot, named) if named else None
    if named and mask is None:
        newest = np.fmax.reduce(snapshot.items.at, initial=-np.inf)
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
    """Return the codes of the speakers of a chat with an assistant; None for other chats."""
    codes = {name: code for code, name in enumerate(snapshot.speakers)}
    return codes if USER in codes and ASSISTANT in codes else None


def side_of(query: str) -> str | None:
    """Return whom a query asks about: the user, the assistant, or None for both."""
    plain = query.lower().replace("\u2019", "'")
    if _OF_BOTH.search(plain):
        return None
    if _OF_ASSISTANT.search(plain):
        return ASSISTANT
    return USER if _FIRST_PERSON.search(plain) else None
