"""Rounds of chats as leaves: a user's message with the replies to it is one text of the tree."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.conftest import Open
from tests.tree.talking import WordEmbedder, echo
from treering import Memory
from treering.llm.scripted import FakeLLM

TALK = (
    ("user", "Ana has a boat"),
    ("assistant", "Which boat"),
    ("user", "Ben bakes bread in the oven"),
    ("assistant", "Bread of rye"),
    ("user", "The boat of Ana leaks"),
    ("assistant", "Then Ana needs another boat"),
    ("user", "Rye bread of Ben burns in the oven"),
    ("assistant", "Poor Ben"),
)


def message(turn: tuple[str, str]) -> dict[str, str]:
    return {"role": turn[0], "content": turn[1]}


def talk(memory: Memory, turns: Sequence[tuple[str, str]] = TALK, source: str = "talk") -> None:
    memory.add([message(turn) for turn in turns], source=source)


def leaf_texts(memory: Memory) -> list[str]:
    return sorted(node.text for node in memory.tree.nodes() if node.leaf)


def spoken(*turns: tuple[str, str]) -> str:
    return "\n".join(f"{role}: {text}" for role, text in turns)


@pytest.fixture
def memory(open_memory: Open) -> Memory:
    memory = open_memory(embedder=WordEmbedder())
    memory.configure("memtree-chat", tree_settle="later")
    return memory


@pytest.mark.both_engines
def test_a_summary_tells_of_a_round_once_though_its_reply_came_later(open_memory: Open) -> None:
    memory = open_memory(embedder=WordEmbedder(), llm=FakeLLM(echo))
    memory.configure("memtree-chat")
    for turn in (*TALK[:2], *TALK[4:6]):
        talk(memory, [turn])
        memory.tree.settle()
    [summary] = [node for node in memory.tree.nodes() if not node.leaf]
    assert summary.leaves == 2
    for text in ("Ana has a boat", "Which boat", "The boat of Ana leaks", "another boat"):
        assert summary.text.count(text) == 1


@pytest.mark.both_engines
def test_forgetting_a_reply_leaves_its_question_and_nothing_of_the_reply(memory: Memory) -> None:
    talk(memory)
    memory.tree.settle()
    [reply] = [entry for entry in memory.entries() if entry.text == "Bread of rye"]
    memory.forget(reply.id)
    assert not any("Bread of rye" in node.text for node in memory.tree.nodes())
    memory.tree.settle()
    assert not any("Bread of rye" in node.text for node in memory.tree.nodes())
    assert leaf_texts(memory) == sorted(
        [spoken(*TALK[:2]), spoken(TALK[2]), spoken(*TALK[4:6]), spoken(*TALK[6:])]
    )
    assert memory.stats().pending == {}


@pytest.mark.both_engines
def test_equal_rounds_stay_apart_and_equal_messages_alone_share_a_leaf(memory: Memory) -> None:
    greeting = (("user", "Hello"), ("assistant", "Hello"))
    for source in ("one", "two"):
        talk(memory, greeting, source=source)
        talk(memory, [("user", "Rain")], source=source)
    rain = ("user", "Rain")
    assert leaf_texts(memory) == [spoken(*greeting), spoken(*greeting), spoken(rain)]
    [leaf] = [node for node in memory.tree.nodes() if node.text == spoken(rain)]
    assert leaf.repeats == 1
    # The reply to one of them takes it off the leaf, which stays that of the other.
    talk(memory, [("assistant", "Snow")], source="one")
    assert leaf_texts(memory)[2:] == [spoken(rain), spoken(rain, ("assistant", "Snow"))]


@pytest.mark.both_engines
def test_k_counts_nodes_and_the_messages_of_a_round_follow_each_other(memory: Memory) -> None:
    talk(memory)
    memory.tree.settle()
    hits = memory.search("Ben burns bread in the oven", k=2)
    assert [hit.text for hit in hits if hit.node is None] == [text for _, text in TALK[6:]]
    assert len(hits) == 3
    assert len({hit.score for hit in hits}) == 2


@pytest.mark.both_engines
def test_a_filter_shows_the_messages_that_meet_it_and_hides_a_summary_of_others(
    memory: Memory,
) -> None:
    talk(memory)
    talk(memory, [("user", "Ana sails the boat"), ("user", "The boat of Ana")], source="log")
    memory.tree.settle()
    hits = memory.search("boat of Ana", k=20, source="log")
    assert {hit.text for hit in hits if hit.node is None} == {
        "Ana sails the boat",
        "The boat of Ana",
    }
    assert all("leaks" not in hit.text for hit in hits)


STEPS = st.lists(
    st.tuples(st.sampled_from(("user", "assistant", "forget")), st.integers(0, 9)), max_size=14
)


LONELY_REPLIES = [
    *[("assistant", 0), ("user", 0), ("assistant", 0), ("user", 0)],
    *[("forget", 1), ("forget", 2)],
]
"""The replies are left once both messages of the user have gone."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(steps=STEPS)
@example(steps=LONELY_REPLIES)
def test_whatever_comes_and_goes_the_rounds_are_those_of_a_tree_grown_at_once(
    open_memory: Open, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    memory = open_memory(tmp_path_factory.mktemp("any") / "memory.db", embedder=WordEmbedder())
    memory.configure("memtree-chat", tree_settle="later")
    for number, (what, at) in enumerate(steps):
        there = list(memory.entries())
        if what != "forget":
            talk(memory, [(what, f"word{at} {number}")])
        elif there:
            memory.forget(there[at % len(there)].id)
        memory.tree.stats()
    by_and_by = leaf_texts(memory)
    memory.rebuild("tree")
    assert leaf_texts(memory) == by_and_by


@pytest.mark.both_engines
@pytest.mark.parametrize("preset", ["memtree-chat", None])
def test_a_summary_stands_where_a_text_is_that_the_filter_allows(
    open_memory: Open, preset: str | None
) -> None:
    memory = open_memory(embedder=WordEmbedder())
    if preset:
        memory.configure(preset)
    talk(memory, TALK[:2])
    for source in ("hidden", "shown"):  # the same texts: each leaf has one of either source
        for text in ("Ana sails her boat home", "Ana paints the boat", "Her boat sails to Ana"):
            memory.add(text, source=source)
    memory.tree.settle()
    hits = memory.search("Ana boat", level="summaries", source="shown")
    assert hits
    assert {hit.source for hit in hits} == {"shown"}
