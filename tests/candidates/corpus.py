"""Texts that are about something: sentences of topics, some words of which all share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

_SYLLABLES = ("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo")
TOPICS = 40


def _words(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(_SYLLABLES, 3).tolist()) for _ in range(count)]


_COMMON = _words(60, 1)
_OF_TOPICS = [_words(25, 100 + topic) for topic in range(TOPICS)]


def sentence(rng: np.random.Generator, topic: int) -> str:
    """A sentence about a topic."""
    words = [*rng.choice(_OF_TOPICS[topic], 6), *rng.choice(_COMMON, 4)]
    rng.shuffle(words)
    return " ".join(words).capitalize() + "."


def talk(rng: np.random.Generator, turns: int) -> list[dict[str, Any]]:
    """Turns of two people who stay with a topic for a while."""
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=int(rng.integers(0, 300)))
    topic = int(rng.integers(TOPICS))
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        if turn % 6 == 0:
            topic = int(rng.integers(TOPICS))
        messages.append(
            {
                "role": "user",
                "name": ("Ana", "Ben")[turn % 2],
                "content": sentence(rng, topic),
                "at": (at + timedelta(minutes=turn)).isoformat(),
                "metadata": {"team": int(rng.integers(20))},
            }
        )
    return messages


def text(rng: np.random.Generator, paragraphs: int) -> str:
    """A document whose paragraphs are about a topic each."""
    return "\n\n".join(
        " ".join(sentence(rng, topic) for _ in range(4))
        for topic in rng.integers(0, TOPICS, paragraphs).tolist()
    )


def questions(rng: np.random.Generator, count: int) -> list[str]:
    """What may be asked: some words of a topic."""
    return [
        " ".join(rng.choice(_OF_TOPICS[topic], 3)) + "?"
        for topic in rng.integers(0, TOPICS, count).tolist()
    ]
