"""A language model judges the changes that the rules do not see.

Here are the candidates, the question and the answer. A candidate is a newer message that speaks of
a change, with its speaker's most similar earlier message. Candidates are few on purpose, because
each costs a call.
"""

from __future__ import annotations

import re
from typing import Final

from treering.errors import LLMReplyError
from treering.llm.contract import LLM, Message, Reply, Usage
from treering.llm.prompts import load
from treering.records import Entry, Hit
from treering.views.facts.record import BOTS

LEAST_COSINE: Final = 0.4
"""With the bundled model. "I live in Berlin" and "Porto is where I live now" have 0.5."""

MAX_CHARS: Final = 600  # of a message that is judged: a statement, not an essay
REPLY_TOKENS: Final = 8

CONTROLS: Final = (
    ("I drive an old Volvo.", "I sold the Volvo and take the bus now.", True),
    ("I play the piano.", "I started to play the violin.", False),
    ("Our flat is on the third floor.", "We moved to the ground floor.", True),
    ("I study law in Lyon.", "My sister quit her studies in Lyon.", False),
    ("I am looking for a job.", "I signed with a bank and stopped looking.", True),
    ("I go to bed at ten.", "I might stay up later now.", False),
    ("I have a beard.", "I shaved my beard off.", True),
    ("I love our garden.", "I now water our garden every day.", False),
)
"""Older message, newer message, and whether the older one has changed. A judge must get these pairs
right before it is believed. Models of 0.5 and 1.5 billion parameters call every pair CHANGED, or
every pair HOLDS if they are shown examples."""

_CONTROLS_RIGHT: Final = 7  # of 8; who answers at random gets there in one of 28 cases

_SPEAKS_OF_CHANGE = re.compile(
    r"\b(?:now|no longer|any\s?more|any longer|moved|changed|switched|quit|left|stopped|started|"
    r"instead|sold|lost|retired|became|broke up|gave up|new job|new place|these days|nowadays)\b",
    re.IGNORECASE,
)
_OF_ONESELF = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Ww]e|[Oo]ur)\b")
_VERDICT = re.compile(r"\b(CHANGED|HOLDS)\b")


def speaks_of_change(entry: Entry) -> bool:
    """Whether a person says in a short message that something about them has changed."""
    return (
        entry.kind == "chat"
        and entry.speaker is not None
        and entry.role not in BOTS
        and len(entry.text) <= MAX_CHARS
        and not entry.text.rstrip().endswith("?")
        and _SPEAKS_OF_CHANGE.search(entry.text) is not None
        and _OF_ONESELF.search(entry.text) is not None
    )


def candidate(entry: Entry, hits: list[Hit]) -> Hit | None:
    """The speaker's most similar earlier message; None if no message is similar enough."""
    said_at = entry.at or entry.added
    for hit in hits:
        earlier = hit.at is None or hit.at < said_at
        open_still = hit.superseded_by is None and hit.role not in BOTS
        if hit.entry_id != entry.id and earlier and open_still:
            return hit if (hit.why.cosine or 0.0) >= LEAST_COSINE else None
    return None


def controls_right(llm: LLM) -> tuple[int, Usage]:
    """How many of ``CONTROLS`` a model judges right, and the cost. Raises the model's errors."""
    usage, right = Usage(), 0
    for older, newer, changed in CONTROLS:
        reply = ask(llm, older, newer)
        usage += reply.usage
        right += _verdict(reply.text) is changed
    return right, usage


def check_controls(model: str, right: int) -> None:
    """Raise LLMReplyError if ``right`` verdicts are too few to believe the model."""
    if right < _CONTROLS_RIGHT:
        raise LLMReplyError(
            f"{model} told {right} of {len(CONTROLS)} control pairs right, and {_CONTROLS_RIGHT} "
            "are needed to believe its verdicts on what has changed; use a larger model, or do "
            "without: the rules need none"
        )


def ask(llm: LLM, older: str, newer: str) -> Reply:
    """The model's verdict on two statements, in its own words."""
    return llm.complete(question(older, newer), max_tokens=REPLY_TOKENS, temperature=0.0)


def question(older: str, newer: str) -> list[Message]:
    """The messages that ask the judge about two statements."""
    return [Message("user", load("fact_judge").fill(older=older[:MAX_CHARS], newer=newer))]


def read_verdict(reply: str) -> bool:
    """Whether the judge says that the older statement has changed. Raises LLMReplyError."""
    verdict = _verdict(reply)
    if verdict is None:
        raise LLMReplyError(f"the judge answered neither CHANGED nor HOLDS: {reply[:100]!r}")
    return verdict


def _verdict(reply: str) -> bool | None:
    match = _VERDICT.search(reply.upper())
    return None if match is None else match[1] == "CHANGED"
