"""Messages that give an assistant a role, for questions to that role (relation ``persona``).

"In the role that you are playing, what do you think of it?" names neither the role nor a word of
"Act as a math teacher", with which it was given: that message is what such a question asks of.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import numpy as np

from treering.arrays import Codes
from treering.journal import entries
from treering.journal.space import SpaceReader
from treering.records import KINDS
from treering.search.asked import ASSISTANT, USER
from treering.search.rank import Ranking
from treering.search.relations.contract import MISSING
from treering.search.terms import terms

HEAD_CHARS: Final = 240
"""Of a message, in which it gives a role: one that goes on for longer says more."""

MOST_READ: Final = 2_048
"""Messages with such a verb, of which the beginnings are read: those that score best."""

MOST_HOLDERS: Final = 20_000
"""Rows with a word, from which on it tells nothing and costs time."""

_ROLE = "(?:role|persona|character)"
_PLAYING = r"(?:(?:play|embod|portray|assum|act|tak)\w*|took|given|assigned)"
_ASKS = re.compile(
    rf"\b{_ROLE} (?:that |which )?(?:i (?:gave|assigned|asked) you"
    rf"|you(?:['\u2019]re|['\u2019]ve| are| were| have)?(?: been| now)? {_PLAYING})\b"
    r"|\byour (?:\w+ )?(?:persona|character)\b|\byour (?:assigned|given) role\b"
    r"|\b(?:in|from|of|with|to) your role\b(?! (?:as|at|for|in|on|with)\b)"
    r"|\b(?:stay|remain|speak|answer|repl[yi]|keep|be|still)(?:ing)? in character\b"
    r"|^in character\b",
    re.IGNORECASE,
)
_VERBS = (
    "act", "behave", "embody", "embrace", "imagine", "impersonate", "assume", "picture", "play",
    "portray", "pretend", "roleplay", "suppose", "take",
)  # fmt: skip
_GIVES = re.compile(
    r"\b(?:act|behave) (?:as|like)\b|\b(?:pretend|impersonate|portray|roleplay)\b"
    rf"|\b(?:embody|embrace|assume|play|take(?: on)?) (?:the|an?) (?:\w+ ){{0,2}}(?:{_ROLE}|part)"
    r" (?:as|of)\b"
    r"|\b(?:imagine|picture|suppose) (?:yourself as|(?:that )?you(?:'re|\u2019re| are)) an?\b",
    re.IGNORECASE,
)


def asks_of_persona(query: str) -> bool:
    """Whether a question is put to a role that the assistant was given. English."""
    return _ASKS.search(query) is not None


def persona_rows(
    reader: SpaceReader, ranking: Ranking, query: int, among: Callable[[Codes], Codes]
) -> list[int]:
    """The rows with which users begin a message that gives the assistant a role, of the rows that
    are ``among`` those looked for.
    """
    snapshot = ranking.snapshot
    speakers = snapshot.names.speakers
    if USER not in speakers and ASSISTANT not in speakers:  # people talk among themselves
        return []
    holders = snapshot.lexical.holders([terms(verb)[:, 0] for verb in _VERBS], MOST_HOLDERS)
    rows: Codes = np.unique(np.concatenate([of_verb for of_verb, _ in holders]))
    is_said = snapshot.kind[rows] == KINDS.index("chat")
    rows = rows[is_said & (snapshot.items.speaker[rows] != speakers.get(ASSISTANT, MISSING))]
    _, firsts = np.unique(snapshot.entry[rows], return_index=True)
    rows = among(rows[firsts])
    rows = rows[np.argsort(-ranking.scores[rows, query], kind="stable")][:MOST_READ]
    numbers = snapshot.entry[rows].tolist()
    heads = entries.beginnings(reader, numbers, HEAD_CHARS, USER) if numbers else {}
    return [
        row
        for row, number in zip(rows.tolist(), numbers, strict=True)
        if _GIVES.search(heads.get(number, ""))
    ]
