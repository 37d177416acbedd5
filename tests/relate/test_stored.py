"""Relations by metadata, by agents and by citations: chosen, configured, forgotten."""

from __future__ import annotations

import pytest

from tests.conftest import Open
from tests.memory.test_suggest import reply, voices
from treering import Memory
from treering.errors import InputError
from treering.llm.scripted import FakeLLM
from treering.records import JSON, Hit

QUESTION = "When does a locked account open again?"


def terms(hits: list[Hit], name: str) -> dict[str, float]:
    return {hit.text: hit.why.terms.get(name, 0.0) for hit in hits}


def fill(memory: Memory) -> list[str]:
    """One question, an answer in other words that shares its ticket, and others that do not."""
    texts = [
        "A locked account opens after ten minutes.",
        "Finished in worker.py.",
        "Soup.",
        "Bread.",
    ]
    values: list[JSON] = ["login", "login", "export", 7]
    return [
        memory.add(text, source=f"note {place}", metadata={"ticket": value}).ids[0]
        for place, (text, value) in enumerate(zip(texts, values, strict=True))
    ]


@pytest.mark.parametrize("unit", ["messages", "rounds"])
def test_texts_with_the_same_value_of_a_key_support_each_other(memory: Memory, unit: str) -> None:
    login, _, _, _ = fill(memory)
    memory.configure(chat_unit=unit)  # type: ignore[arg-type]
    chosen = {"relations": ["same(key=ticket) @ 1"], "k": 4}
    support = terms(memory.search(QUESTION, **chosen), "same")  # type: ignore[arg-type]
    assert support["Finished in worker.py."] == support["A locked account opens after ten minutes."]
    assert support["Finished in worker.py."] > max(support["Soup."], support["Bread."])
    memory.configure(relations="text: same(key=ticket) @ 1; chat: none")
    assert terms(memory.search(QUESTION, k=4), "same") == support
    added = memory.add("Doors.", source="late", metadata={"ticket": "login"})
    hits = memory.search(QUESTION, k=5)
    assert terms(hits, "same")["Doors."] == terms(hits, "same")["Finished in worker.py."]
    memory.forget(added.ids[0])
    memory.forget(login)
    left = terms(memory.search(QUESTION, k=4), "same")
    assert set(left) == {"Finished in worker.py.", "Soup.", "Bread."}
    reopened = memory.search(QUESTION, k=4, relations=["same(key=ticket) @ 1"])
    assert terms(reopened, "same") == left


def test_the_other_agents_of_a_task_support_an_entry(memory: Memory) -> None:
    for agent, text in [("planner", "A locked account."), ("coder", "Done."), ("coder", "Soup.")]:
        memory.add(text, source="team", speaker=agent, session="login")
    support = terms(memory.search("locked account", k=3, relations=["agents"], alpha=1), "agents")
    assert support["Done."] == support["Soup."] > support["A locked account."]


def test_a_text_that_names_a_source_and_its_texts_support_each_other(memory: Memory) -> None:
    memory.add("A locked account opens after ten minutes.", source="docs/locks.md")
    citing = memory.add("Done as locks.md says.", source="log")
    memory.add("Done as blocks.md says.", source="log 2")
    support = terms(memory.search(QUESTION, k=3, relations=["cites @ 1"]), "cites")
    assert support["Done as locks.md says."] > support["Done as blocks.md says."] == 0
    memory.forget(citing.ids[0])
    assert not any(terms(memory.search(QUESTION, k=3, relations=["cites @ 1"]), "cites").values())


@pytest.mark.parametrize("wrong", ["same", "same(key=)", "same(key=7)", "same(k=x)"])
def test_a_value_is_of_a_key(memory: Memory, wrong: str) -> None:
    fill(memory)
    with pytest.raises(InputError, match="key"):
        memory.search(QUESTION, relations=[wrong])
    with pytest.raises(InputError, match="key"):
        memory.configure(relations=f"text: {wrong}")


def test_a_model_can_propose_a_key_that_it_has_seen_and_fit_keeps_it(open_memory: Open) -> None:
    def names() -> set[str]:
        return {each.relation.name for each in memory._views.planner.defaults()["chat"]}

    llm = FakeLLM([reply("chat: same(key=team) @ 0.5")])
    memory = open_memory(llm=llm)
    turns = [{**turn, "metadata": {"team": turn["name"]}} for turn in voices()]
    memory.add(turns, source="hall")
    [suggestion] = memory.suggest_relations()
    assert suggestion.kept
    assert "{'team': 'Speaker" in llm.requests[0].text
    assert "same" in names()
    memory.fit()
    assert "same" in names()
