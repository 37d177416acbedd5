"""Rounds of chats: a user's message with the replies to it is what a search ranks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import Open
from treering import Memory
from treering.arrays import Floats
from treering.records import Filter
from treering.search.lexical import Lexical
from treering.search.searcher import Search, Searcher
from treering.search.terms import Terms, terms
from treering.views.fragments.table import Table


class Letters:
    """An embedder of three dimensions: a text is how often it has a, b and c as words."""

    name = "letters"
    dimension = 3

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        del query
        counts = [[text.split().count(letter) for letter in "abc"] for text in texts]
        return np.array(counts, dtype=np.float32) + np.float32(1e-3)


TALK = ["a a b", "b c", "c c a", "a b c", "b b c", "a a c", "c b a", "b b a"]
"""Four rounds of eight messages, question and answer of three or two words."""

SIDES = ("user", "assistant")
START = datetime(2026, 1, 1, tzinfo=UTC)


def talk(memory: Memory, texts: Sequence[str] = TALK, source: str = "talk") -> list[str]:
    """Add messages of a user and an assistant in turns; return their ids."""
    messages = [
        {
            "role": SIDES[n % 2],
            "content": text,
            "at": START + timedelta(hours=n),
        }
        for n, text in enumerate(texts)
    ]
    return list(memory.add(messages, source=source).ids)


@pytest.fixture
def memory(open_memory: Open) -> Memory:
    memory = open_memory(embedder=Letters())
    memory.configure("fragrel-chat")
    return memory


def unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_rounds_are_ranked_by_equation_10_with_vectors_of_their_messages(memory: Memory) -> None:
    talk(memory)
    # The vector of a round: those of its messages, by their length, on unit length.
    messages = unit(Letters().embed(TALK)) * np.array([[len(text)] for text in TALK])
    rounds = unit(messages.reshape(4, 2, 3).sum(axis=1))
    own = rounds @ unit(Letters().embed(["a"]))[0]
    places = np.arange(4)
    related = 0.8 ** np.abs(places[:, None] - places[None, :])
    scores = own + 0.5 * (related @ own) / related.sum(axis=1)
    hits = memory.search("a", k=4)
    by_hand = np.argsort(-scores, kind="stable").tolist()
    assert [hit.position for hit in hits] == [2 * n + side for n in by_hand for side in (0, 1)]
    # A search puts cosines on a scale of its own, which changes no rank: differences keep shares.
    shown, expected = np.array([hit.score for hit in hits[::2]]), scores[by_hand]
    assert (shown - shown[0]) / (shown[-1] - shown[0]) == pytest.approx(
        (expected - expected[0]) / (expected[-1] - expected[0]), abs=1e-4
    )
    assert [hit.score for hit in hits[::2]] == [hit.score for hit in hits[1::2]]
    assert all(sum(hit.why.terms.values()) == pytest.approx(hit.score) for hit in hits)


def test_bm25_of_a_round_is_that_of_its_messages_as_one_text() -> None:
    texts = ["boat and boat", "gone", "a red boat", "no cat", "the boat sails today"]
    pieces = indexed(texts[:3]).extend(*counted(texts[3:])).shrunk(np.array([1]))
    rounds = pieces.group_rows(np.array([0, 0, 1, 1]), 2)
    joined = indexed([f"{texts[0]} {texts[2]}", f"{texts[3]} {texts[4]}"])
    query = terms("boats and cats")
    assert rounds.score(query) == pytest.approx(joined.score(query))
    assert len(rounds) == 2
    both = np.array([0, 1])
    assert rounds.coverage(query, both).tolist() == joined.coverage(query, both).tolist()


def counted(texts: Sequence[str]) -> tuple[Terms, NDArray[np.int64]]:
    rows = [terms(text) for text in texts]
    return np.concatenate(rows), np.array([len(row) for row in rows])


def indexed(texts: Sequence[str]) -> Lexical:
    return Lexical().extend(*counted(texts))


def test_a_message_is_found_before_the_reply_is_there_and_the_round_grows(memory: Memory) -> None:
    talk(memory, TALK[:3])
    assert [hit.position for hit in memory.search("c", k=1)] == [2]
    memory.add([{"role": "assistant", "content": "c"}], source="talk")
    assert [hit.position for hit in memory.search("c", k=1)] == [2, 3]


def test_a_greeting_and_system_messages_are_a_round_of_their_own(memory: Memory) -> None:
    roles = ["system", "assistant", "user", "tool", "assistant", "user"]
    talk = [f"{letter} {role}" for letter, role in zip("aabbbc", roles, strict=True)]
    messages = zip(roles, talk, strict=True)
    memory.add([{"role": role, "content": text} for role, text in messages], source="talk")
    assert [hit.position for hit in memory.search("a", k=1)] == [0, 1]
    assert [hit.position for hit in memory.search("b", k=1)] == [2, 3, 4]
    assert [hit.position for hit in memory.search("c", k=1)] == [5]


def test_where_nobody_is_the_user_a_round_begins_with_who_began(memory: Memory) -> None:
    for speaker, text in [("Ana", "a"), ("Ben", "b"), ("Ana", "c"), ("Ben", "b b")]:
        memory.add(text, source="talk", kind="chat", speaker=speaker)
    assert [hit.text for hit in memory.search("c", k=1)] == ["c", "b b"]


def test_what_is_forgotten_is_in_no_round_any_more(
    memory: Memory, open_memory: Open, tmp_path: Path
) -> None:
    ids = talk(memory)
    memory.forget(ids[3])  # a reply
    memory.forget(ids[4])  # a question: its reply joins the round before it, as if it had replied
    other = open_memory(tmp_path / "other.db", embedder=Letters())
    other.configure("fragrel-chat")
    sides = [0, 1, 0, 1, 0, 1]
    rest = [text for n, text in enumerate(TALK) if n not in (3, 4)]
    other.add(
        [{"role": SIDES[side], "content": text} for side, text in zip(sides, rest, strict=True)],
        source="talk",
    )
    assert shown(memory) == shown(other)


def shown(memory: Memory) -> list[tuple[str, float]]:
    hits = memory.search("a c", k=9)
    return [(hit.text, round(hit.score, 4)) for hit in hits]


def test_what_was_not_known_yet_is_left_out_of_a_round(memory: Memory) -> None:
    talk(memory)
    hits = memory.search("c", k=9, as_of=START + timedelta(hours=2, minutes=30))
    assert sorted(hit.position for hit in hits) == [0, 1, 2]
    hits = memory.search("c", k=2, until=START + timedelta(hours=2, minutes=30))
    assert sorted(hit.position for hit in hits) == [0, 1, 2]


def test_vectors_in_eight_bits_rank_rounds_as_well(memory: Memory) -> None:
    talk(memory)
    searched = [shown(memory), searched_with(memory, 4)]
    assert [text for text, _ in searched[0]] == [text for text, _ in searched[1]]
    assert [score for _, score in searched[0]] == pytest.approx(
        [score for _, score in searched[1]], abs=0.1
    )


def searched_with(memory: Memory, exact_rows: int) -> list[tuple[str, float]]:
    views = memory._views
    searcher = Searcher(memory._space, Table(memory._space, exact_rows), lambda: views.embedder)
    plan = memory._views.planner.defaults()
    hits = searcher.search(Search("a c", Filter(), "dense", plan, "rounds"), 9)
    return [(hit.text, round(hit.score, 4)) for hit in hits]


def test_a_round_stays_whole_when_a_message_of_it_comes_first(memory: Memory) -> None:
    ids = talk(memory)
    memory.configure(k=1)
    memory.pin(ids[7])
    [passage] = memory.context("c", budget=500).passages
    assert [hit.entry_id for hit in sorted(passage.hits, key=lambda hit: hit.position)] == ids[6:8]
