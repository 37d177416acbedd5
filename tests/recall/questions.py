"""Questions whose answers stand among much talk, and what is true of the hits of all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from treering import Hit, Memory

TALK = [f"number {n} of the things that are said while it rains all day" for n in range(24)]


def add_each(memory: Memory, texts: Sequence[str], **fields: object) -> None:
    """Add each text as a source of its own, in one change: so many adds take a server seconds."""
    entries = [
        {"id": f"{number:016x}", "source": f"talk {number}", "position": 0, "text": text, **fields}
        for number, text in enumerate(texts)
    ]
    header = {"format": "treering", "version": 1}
    usual = {"kind": "text", "added": "2026-01-01T00:00:00+00:00"}
    memory.import_([json.dumps(line) for line in (header, *(usual | entry for entry in entries))])


def by_text(memory: Memory, question: str, **how: Any) -> dict[str, Hit]:
    """The hits by words, best first, by their texts; the reasons of each add up to its score."""
    hits = memory.search(question, mode="lexical", k=100, **how)
    for hit in hits:
        assert sum(hit.why.terms.values()) == pytest.approx(hit.score, abs=1e-4)
    return {hit.text: hit for hit in hits}


def bonus(hit: Hit, name: str) -> float:
    """What a relation gives to a hit."""
    return hit.why.terms.get(name, 0.0)


def assert_answered_as_each_alone(memory: Memory, questions: Sequence[str]) -> None:
    """That questions asked together find what each finds alone."""
    together = memory.search_many(questions, k=5)
    for question, hits in zip(questions, together, strict=True):
        alone = memory.search(question, k=5)
        assert [hit.entry_id for hit in hits] == [hit.entry_id for hit in alone]
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in alone], abs=1e-3)
