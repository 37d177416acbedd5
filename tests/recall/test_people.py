"""Chats between people: weights of their own, and queries embedded without speakers' names."""

from __future__ import annotations

from pathlib import Path

from tests.embedders import HashingEmbedder
from tests.recall.questions import TALK
from treering import Memory
from treering.search.snapshot import without_speakers

NAMES = ["Ana", "Ben Ode", "user", "C++"]
QUESTION = "Where did Ana's sister move?"


def test_names_of_speakers_are_taken_out_unless_nothing_is_left() -> None:
    cases = [
        (QUESTION, "Where did sister move?"),
        ("What did BEN ODE cook?", "What did cook?"),
        ("What did Ben cook?", "What did Ben cook?"),
        ("Is banana bread good?", "Is banana bread good?"),
        ("What does the user want?", "What does the user want?"),
        ("Ana", "Ana"),
        ("Who is Ana?", "Who is Ana?"),
    ]
    for query, rest in cases:
        assert without_speakers(NAMES, query) == rest


def talk(memory: Memory, *speakers: str) -> None:
    memory.add(
        [
            {"role": "user", "name": speakers[n % len(speakers)], "content": text}
            for n, text in enumerate(TALK)
        ],
        source="talk",
    )


def asked(embedder: HashingEmbedder, memory: Memory, **how: object) -> str:
    memory.search(QUESTION, **how)  # type: ignore[arg-type]
    return embedder.texts[-1]


def test_a_query_is_embedded_without_names_in_chats_between_people(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    with Memory.open(tmp_path / "a.db", embedder=embedder) as memory:
        talk(memory, "Ana", "Ben")
        assert asked(embedder, memory) == "Where did sister move?"
        assert asked(embedder, memory, alpha=1.0) == QUESTION  # chosen weights: as the papers score


def test_a_speaker_who_comes_later_is_taken_out_as_in_a_memory_opened_then(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    with Memory.open(tmp_path / "a.db", embedder=embedder) as memory:
        talk(memory, "Ben")
        assert asked(embedder, memory) == QUESTION
        talk(memory, "Ana")
        assert asked(embedder, memory) == "Where did sister move?"
        [hit] = memory.search(QUESTION, k=1)
    with Memory.open(tmp_path / "a.db", embedder=embedder) as memory:
        assert memory.search(QUESTION, k=1) == [hit]
