"""Messages that take up the one before them (relation ``follow-up``).

"Amend your earlier answer" says nothing itself of what it is about, and no question of that finds
it. What it is about stands in the message before, in whose place it may well be shown: so it gets
a part of what it lacks of that one's score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from treering.arrays import Codes, Floats
from treering.journal import entries
from treering.journal.space import SpaceReader
from treering.records import KINDS
from treering.search.asked import ASSISTANT
from treering.search.leading import LEADING
from treering.search.mentions import BestRows
from treering.search.rank import Ranking
from treering.search.related import MOST_PIECES
from treering.search.relations.asked import FollowUp
from treering.search.relations.contract import MISSING
from treering.search.relations.registry import Plan, alpha_of
from treering.search.rounds import reading_of
from treering.search.snapshot import Snapshot

HEAD_CHARS: Final = 160
"""Of a message, in which it takes up the one before: one that goes on for longer says more."""

_UTTERANCE = (
    "(?:answer|response|explanation|suggestion|recommendation|solution|output|version|draft|"
    "summary|example|statement|question|task|discussion)s?"
)
_TAKES_UP = re.compile(
    rf"\byour (?:\w+ ){{0,2}}(?:{_UTTERANCE}|reply|replies)\b"
    rf"|\b(?:previous|earlier|preceding|prior|above|same) (?:{_UTTERANCE}|reply|replies)\b"
    r"|\bthe above\b",
    re.IGNORECASE,
)


def with_follow_ups(
    reader: SpaceReader,
    ranking: Ranking,
    plan: Plan,
    queries: Sequence[str],
    first: BestRows,
) -> Ranking:
    """A ranking in which messages that take up the one before them get α times what they lack of
    its score, among the leading rows, as ``first`` gives them. The scores change in place.
    """
    alpha = alpha_of(plan, "chat", FollowUp)
    snapshot = ranking.snapshot
    if not alpha or "chat" not in snapshot.kinds:
        return ranking
    noted: dict[tuple[int, int], float] = {}
    for number in range(len(queries)):
        scores = ranking.scores[:, number]
        for row, before in _taking_up(reader, snapshot, first(ranking, number, LEADING), scores):
            lack = float(scores[before].max() - scores[row])
            noted[row, number] = alpha * lack
            scores[row] += np.float32(alpha * lack)
    return replace(ranking, noted={**ranking.noted, FollowUp().name: noted})


def _taking_up(
    reader: SpaceReader, snapshot: Snapshot, rows: Codes, scores: Floats
) -> Iterator[tuple[int, Codes]]:
    """Those of some rows, best first, that take up the message before them, where that scores more,
    and the rows of that one: it comes first, since it may take up another itself.
    """
    begins, before = _messages_before(snapshot, rows)
    scores_more = scores[before].max(axis=1) > scores[begins]
    begins, before = begins[scores_more], before[scores_more]
    numbers = snapshot.entry[begins].tolist()
    heads = entries.beginnings(reader, numbers, HEAD_CHARS) if numbers else {}
    for row, number, of_last in zip(begins.tolist(), numbers, before, strict=True):
        if _TAKES_UP.search(heads.get(number, "")):
            yield row, of_last


def _messages_before(snapshot: Snapshot, rows: Codes) -> tuple[Codes, Codes]:
    """Those of some rows with which people begin a message, shape (M,), and the rows of the one
    before it in the session, shape (M, ``MOST_PIECES``), some of them more than once.
    """
    items, entry, reading = snapshot.items, snapshot.entry, reading_of(snapshot)
    assistant = snapshot.names.speakers.get(ASSISTANT)
    is_talk = (snapshot.kind[rows] == KINDS.index("chat")) & (items.document[rows] != MISSING)
    if assistant is not None:
        is_talk &= items.speaker[rows] != assistant
    talk = rows[is_talk]
    places = reading.places(items.document[talk], items.position[talk])
    places = places[reading.continues[places]]
    places = places[entry[reading.rows[places]] != entry[reading.rows[places - 1]]]
    earlier = np.maximum(places[:, None] - np.arange(1, MOST_PIECES + 1), 0)
    before = reading.rows[earlier].astype(np.int64)
    is_of_last = np.logical_and.accumulate(entry[before] == entry[before[:, :1]], axis=1)
    return reading.rows[places].astype(np.int64), np.where(is_of_last, before, before[:, :1])
