"""Fitting relations to a space: kept only where held-out pseudo-queries gain."""

from __future__ import annotations

import random

import pytest

from tests.conftest import Open
from tests.memory.test_suggest import reply, voices
from treering import Memory
from treering.errors import InputError
from treering.llm.scripted import FakeLLM
from treering.search.relations.registry import DEFAULTS
from treering.views.fit import pseudo_queries

NOUNS = [f"noun{n}" for n in range(300)]


def fill(memory: Memory, count: int) -> None:
    """Talks that each keep to a few words of their own: neighbours tell of each other."""
    rng = random.Random(1)
    for talk in range(count // 20):
        own = rng.sample(NOUNS, 12)
        memory.add(
            [{"role": "user", "content": " ".join(rng.choices(own, k=14))} for _ in range(20)],
            source=f"talk {talk}",
            session="s",
        )


def test_fit_reports_and_the_space_follows_what_is_kept(open_memory: Open) -> None:
    memory = open_memory()
    fill(memory, 400)
    (report,) = memory.fit()
    assert report.kind == "chat"
    assert 0 < report.default <= 1
    assert 0 < report.fitted <= 1
    assert report.gain == report.fitted - report.default
    expected = report.chosen if report.kept else DEFAULTS["chat"]
    assert list(memory._views.planner.defaults()["chat"]) == list(expected)
    assert list(open_memory()._views.planner.defaults()["chat"]) == list(expected)
    assert list(memory._views.planner.defaults()["text"]) == list(DEFAULTS["text"])
    # These turns are short: whole messages have nothing to say that their only pieces have not. And
    # the question names no time, no source and nobody, and nobody asks or takes up anything.
    silent = {"message", "named", "when", "role", "wish", "parts", "source", "reply"}
    named = {one.relation.name for one in expected} - silent
    assert named <= set(memory.search("noun1 noun2", k=1)[0].why.terms)


def test_fit_keeps_a_relation_that_a_model_suggested(open_memory: Open) -> None:
    memory = open_memory(llm=FakeLLM([reply("chat: speaker @ 0.5")]))
    memory.add(voices(), source="hall")
    [suggestion] = memory.suggest_relations()
    assert suggestion.report is not None
    [report] = memory.fit()
    assert report.default == pytest.approx(suggestion.report.fitted)
    kept = [choice.relation.name for choice in memory._views.planner.defaults()["chat"]]
    assert "speaker" in kept


def test_rounds_are_fitted_as_rounds(memory: Memory) -> None:
    """Half of each round is in its reply: a fragment alone would not hold the words asked for."""
    fill(memory, 400)
    memory.configure("fragrel-chat")
    assert memory.configure().chat_unit == "rounds"
    [report] = memory.fit()
    assert report.queries == 400
    rng = random.Random(2)
    for talk in range(10):
        said = rng.sample(NOUNS, 12)
        turns = [" ".join(rng.choices(said, k=14)) for _ in range(20)]
        roles = ["user", "assistant"]
        memory.add(
            [{"role": roles[at % 2], "content": text} for at, text in enumerate(turns)],
            source=f"pairs {talk}",
        )
    with memory._space.read() as reader:
        scoring = memory._views._scoring(reader, None)
        assert len(scoring.snapshot) == 500
        assert {len(scoring.parts(row)) for row in range(500)} == {1, 2}
        queries = pseudo_queries(reader, scoring, memory._views.embedder, "chat")
    assert max(int(left[:, 1].sum()) for left in queries.left) > 14  # words of one message
    assert memory.fit()
    assert memory.configure().preset == "fragrel-chat"


def test_too_little_text_keeps_the_defaults_and_says_so(memory: Memory) -> None:
    with pytest.raises(InputError, match="is empty; add something first"):
        memory.fit()
    memory.add("Porto.")
    with pytest.raises(InputError, match="too little text"):
        memory.fit()
    assert list(memory._views.planner.defaults()["text"]) == list(DEFAULTS["text"])


def test_the_relations_of_a_preset_are_fitted_and_the_preset_stays(memory: Memory) -> None:
    fill(memory, 400)
    memory.configure("fragrel-chat", chat_unit="messages")
    before = memory.configure()
    (report,) = memory.fit()
    assert [choice.relation.name for choice in report.chosen] == ["context"]
    assert memory.configure().preset == before.preset
    [context] = memory.configure().relations["chat"]
    assert context == (str(report.chosen[0]) if report.kept else before.relations["chat"][0])
    assert memory.configure("fragrel-chat").preset == "fragrel-chat"
    assert memory.configure().relations["chat"] == ("context(w=0.8, within=document) @ 0.5",)


def test_without_relations_there_is_none_to_fit(memory: Memory) -> None:
    fill(memory, 400)
    memory.configure("memtree-chat")
    with pytest.raises(InputError, match="no relation of text or chat or code"):
        memory.fit()
    assert memory.configure().preset == "memtree-chat"
