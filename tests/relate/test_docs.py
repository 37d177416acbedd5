"""The page for those who write a relation of their own: its example does what it says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.docs.pages import entry_points, examples
from tests.memory.test_suggest import reply, voices
from tests.plugins import install
from treering import Memory
from treering.errors import InputError, UnknownName
from treering.llm.scripted import FakeLLM
from treering.search.relations.contract import Weighted, is_relation

PAGE = "how-to/relations.md"


def test_the_example_of_the_page_is_a_relation_by_object_and_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, relation, usage, *_ = examples(PAGE, "python")
    install(monkeypatch, tmp_path, "weekdays", relation, entry_points(PAGE))
    monkeypatch.chdir(tmp_path)
    exec(usage, {})
    assert capsys.readouterr().out == "True\n"
    with Memory.open("relations.db") as memory:
        hits = {hit.text: hit for hit in memory.search("choir", relations=["weekday"], k=3)}
        weekday = memory._views.planner.plan(["weekday"], None)["chat"][0].relation
        snapshot = memory._views.searcher.snapshot()
        assert is_relation(weekday)
        assert snapshot is not None
        operator = weekday.bind(snapshot.items)
        again = memory._views.planner.plan(
            [Weighted(sys.modules["weekdays"].SameWeekday(), 0.5)], None
        )
        [chosen], [named] = again["chat"], memory._views.planner.plan(["weekday"], None)["chat"]
        assert named.relation == chosen.relation, "their operator is kept"
        [weighted] = memory._views.planner.plan(["weekday @ 0.7"], None)["chat"]
        assert weighted == Weighted(named.relation, 0.7)
    assert hits["The tenor was ill."].why.terms["weekday"] > 0
    same = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=np.float32)
    scores = np.array([[3, 1], [5, 2], [7, 4]], dtype=np.float32)
    np.testing.assert_allclose(operator.propagate(scores), same @ scores)
    np.testing.assert_allclose(operator.mass(), same.sum(axis=1))


def test_the_example_of_suggestions_prints_each(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}
    exec(examples(PAGE, "python")[0], names)
    with Memory.open(path) as memory:
        memory.add(voices(), source="hall")
    names["suggest"](path, FakeLLM([reply("chat: time(tau=60)", "chat: none")]))
    assert capsys.readouterr().out == (
        "chat: time(tau=60) - no gain\nchat: none - it names 0 relations; a proposal is one\n"
    )


def test_the_relation_of_an_entry_point_is_one_whatever_it_says_of_equality(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: Memory
) -> None:
    source = """
from treering.search.relations.contract import NullOperator

BOUND = []

class Odd:
    name = "odd"

    def __init__(self, slant=0):
        self.slant = slant

    def bind(self, items):
        BOUND.append(len(items.document))
        return NullOperator(len(items.document))
"""
    points = "[treering.relations]\nodd = odd_relation:Odd\n"
    install(monkeypatch, tmp_path, "odd_relation", source, points)
    memory.add("A boat.")
    for given in ("odd", "odd", "odd @ 0.2", "odd(slant=1)", "odd(slant=1) @ 0.2"):
        memory.search("boat", relations=[given])
    assert sys.modules["odd_relation"].BOUND == [1, 1], "one of each slant"


@pytest.mark.parametrize("name", ["tree", "topic"])
def test_the_relation_of_a_view_takes_a_weight_in_a_search_only(memory: Memory, name: str) -> None:
    memory.add("A boat.")
    memory.settle()
    [plain] = memory._views.planner.plan([name], None)["text"]
    [weighted] = memory._views.planner.plan([f"{name} @ 0.7"], None)["text"]
    assert (plain.alpha, weighted.alpha) == (0.5, 0.7)
    assert weighted.relation.name == plain.relation.name
    with pytest.raises(InputError):
        memory.search("boat", relations=[f"{name}(depth=2)"])
    with pytest.raises(UnknownName, match="a search also takes"):
        memory.configure(relations=f"text: {name} @ 0.5")


def test_what_is_no_relation_is_told_what_it_lacks(memory: Memory) -> None:
    class Bare:
        name = "bare"

    memory.add("A boat.")
    with pytest.raises(InputError, match="which has no bind; give a name, a Weighted, or"):
        memory.search("boat", relations=[Bare()])  # type: ignore[list-item]
