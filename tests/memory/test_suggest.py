"""Relations that a language model proposes: kept only if held-out pseudo-queries gain."""

from __future__ import annotations

import json
import random

import pytest

from tests.conftest import Open
from treering.errors import InputError, JournalBusy, LLMReplyError
from treering.llm.scripted import FakeLLM, Request
from treering.search.relations.registry import DEFAULTS


def voices() -> list[dict[str, str]]:
    """Turns in random order: each speaker keeps to some words, and times say nothing."""
    rng = random.Random(1)
    nouns = [f"noun{n}" for n in range(200)]
    turns = []
    for speaker in range(60):
        own = rng.sample(nouns, 30)
        turns += [(f"Speaker{speaker}", " ".join(rng.choices(own, k=12))) for _ in range(6)]
    rng.shuffle(turns)
    return [
        {
            "role": "user",
            "name": name,
            "content": text,
            "at": f"2026-05-03T{n // 60:02}:{n % 60:02}",
        }
        for n, (name, text) in enumerate(turns)
    ]


def reply(*lines: str) -> str:
    return json.dumps([{"relation": line, "why": "They belong together."} for line in lines])


def test_a_planted_relation_is_kept_and_a_useless_one_is_not(open_memory: Open) -> None:
    llm = FakeLLM([reply("chat: time(tau=60)", "chat: speaker @ 0.5", "chat: friends")])
    memory = open_memory(llm=llm)
    memory.add(voices(), source="hall")
    useless, planted, unknown = memory.suggest_relations()
    assert (useless.kept, planted.kept, unknown.kept) == (False, True, False)
    assert useless.report is not None
    assert planted.report is not None
    assert useless.report.gain < planted.report.gain
    assert (unknown.report, "friends" in str(unknown.refused)) == (None, True)
    for opened in (memory, open_memory()):
        chosen = opened._views.planner.defaults()["chat"]
        assert list(chosen) == list(planted.report.chosen)
        names = {choice.relation.name for choice in chosen}
        assert names == {choice.relation.name for choice in DEFAULTS["chat"]} | {"speaker"}
    assert "speaker" in memory.search("noun1 noun2", k=1)[0].why.terms
    assert [cost.operation for cost in memory.stats().spent] == ["relate"]
    [request] = llm.requests
    assert '"speaker": "Speaker' in request.text.split("</entries>")[0]


REFUSED = [
    *("friends", "chat: friends", "chat: context(w=2)", "chat: none", "chat: speaker, session"),
    *("chat: speaker; text: speaker", "text: speaker", "chat: mention", "chat: message"),
    *("chat: session(name=lexical)", "chat: time(tau=soon)", "chat: speaker(x=1)"),
]


def test_a_proposal_that_cannot_be_tried_is_refused_and_changes_nothing(open_memory: Open) -> None:
    batches = [REFUSED[at : at + 3] for at in range(0, len(REFUSED), 3)]
    memory = open_memory(llm=FakeLLM([*(reply(*batch) for batch in batches), "[]"]))
    memory.add(voices(), source="hall")
    before = memory.configure()
    for batch in batches:
        suggestions = memory.suggest_relations()
        assert [one.relation for one in suggestions] == batch
        assert all(one.refused and one.report is None for one in suggestions), batch
    assert memory.suggest_relations() == []
    assert memory.configure() == before


@pytest.mark.parametrize("garbage", ["I propose friendship.", "[5]"])
def test_a_reply_without_a_list_of_proposals_changes_nothing(
    open_memory: Open, garbage: str
) -> None:
    memory = open_memory(llm=FakeLLM([garbage, garbage]))
    memory.add(voices(), source="hall")
    before = memory.configure()
    with pytest.raises(LLMReplyError):
        memory.suggest_relations()
    assert memory.configure() == before


def test_relations_of_a_preset_stay_and_too_little_text_costs_no_call(open_memory: Open) -> None:
    llm = FakeLLM([])
    memory = open_memory(llm=llm)
    for texts in ([], [{"role": "user", "content": "Porto."}], voices()):
        if texts:
            memory.add(texts)
        if len(texts) > 1:
            memory.configure("fragrel-chat")
        before = memory.configure()
        with pytest.raises(InputError):
            memory.suggest_relations()
        assert memory.configure() == before
    assert llm.requests == []


def test_settings_that_change_meanwhile_win(open_memory: Open) -> None:
    def interfere(_: Request) -> None:
        memory.configure(k=3)

    memory = open_memory(llm=FakeLLM([reply("chat: speaker")], before_reply=interfere))
    memory.add(voices(), source="hall")
    with pytest.raises(JournalBusy):
        memory.suggest_relations()
    assert memory.configure().k == 3
    assert list(memory._views.planner.defaults()["chat"]) == list(DEFAULTS["chat"])
