"""Messages that give an assistant a role, for questions to that role (relation ``persona``).

"In the role that you are playing, what do you think of it?" names neither the role nor a word of
"Act as a math teacher", with which it was given: that message is what such a question asks of.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from treering.arrays import Codes
from treering.journal import entries
from treering.journal.space import SpaceReader
from treering.records import KINDS
from treering.search.asked import USER
from treering.search.rank import Ranking
from treering.search.terms import terms

HEAD_CHARS: Final = 240
"""Of a message, in which it gives a role: one that goes on for longer says more."""

MOST_GIVEN: Final = 64
"""Messages that may give a role, of which the beginnings are read: the best of them."""

MOST_HOLDERS: Final = 20_000
"""Rows with a word, from which on it tells nothing and costs time."""

_ROLE = "(?:role|persona|character)"
_ASKS = re.compile(
    rf"\b{_ROLE} (?:that |which )?(?:you|i (?:gave|assigned|asked) you)\b"
    rf"|\byour (?:\w+ )?{_ROLE}\b|\bin character\b",
    re.IGNORECASE,
)
_VERBS = (
    "act", "behave", "embody", "embrace", "imagine", "impersonate", "assume", "picture", "play",
    "portray", "pretend", "roleplay", "suppose", "take",
)  # fmt: skip
_GIVES = re.compile(
    r"\b(?:act|behave) (?:as|like)\b|\b(?:pretend|impersonate|portray|roleplay)\b"
    rf"|\b(?:embody|embrace|assume|play|take on) (?:the|an?) (?:\w+ ){{0,2}}(?:{_ROLE}|part)\b"
    r"|\b(?:imagine|picture|suppose) (?:yourself as|(?:that )?you(?:'re|\u2019re| are)) an?\b",
    re.IGNORECASE,
)


def asks_of_persona(query: str) -> bool:
    """Whether a question is put to a role that the assistant was given. English."""
    return _ASKS.search(query) is not None


def persona_rows(reader: SpaceReader, ranking: Ranking, query: int) -> list[int]:
    """The rows with which users begin a message that gives the assistant a role.

    Of more messages that may do so the best ``MOST_GIVEN`` are looked at.
    """
    snapshot = ranking.snapshot
    user = snapshot.names.speakers.get(USER)
    if user is None:
        return []
    holders = snapshot.lexical.holders([terms(verb)[:, 0] for verb in _VERBS], MOST_HOLDERS)
    rows: Codes = np.unique(np.concatenate([of_verb for of_verb, _ in holders]))
    is_said = snapshot.kind[rows] == KINDS.index("chat")
    rows = rows[is_said & (snapshot.items.speaker[rows] == user)]
    _, firsts = np.unique(snapshot.entry[rows], return_index=True)
    rows = rows[firsts]
    rows = rows[np.argsort(-ranking.scores[rows, query], kind="stable")][:MOST_GIVEN]
    numbers = snapshot.entry[rows].tolist()
    heads = entries.beginnings(reader, numbers, HEAD_CHARS) if numbers else {}
    return [
        row
        for row, number in zip(rows.tolist(), numbers, strict=True)
        if _GIVES.search(heads.get(number, ""))
    ]
