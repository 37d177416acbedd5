"""Fitting relations to a space: kept only where held-out pseudo-queries gain."""

from __future__ import annotations

import random

import pytest

from tests.conftest import Open
from treering import Memory
from treering.errors import InputError
from treering.search.relations.registry import DEFAULTS

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


def test_fitting_twice_finds_the_same(memory: Memory) -> None:
    fill(memory, 200)
    assert memory.fit() == memory.fit()


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
