"""Asking: cited answers, and models that are missing, slow, or talk nonsense."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.errors import (
    InputError,
    LLMNotConfigured,
    LLMReplyError,
    LLMUnavailable,
    TreeringError,
    UnknownName,
)
from treering.llm.scripted import FakeLLM, Line
from treering.llm.tokens import estimate_tokens


def remembering(open_memory: Open, *lines: Line) -> tuple[Memory, FakeLLM]:
    llm = FakeLLM(lines)
    memory = open_memory(llm=llm)
    memory.add("Ana's sister moved to Porto.", source="diary", at="2026-05-03")
    memory.add("Ben rows on the river.", source="novel.txt")
    return memory, llm


@pytest.mark.both_engines
def test_an_answer_cites_the_passages_it_rests_on(open_memory: Open) -> None:
    memory, llm = remembering(open_memory, "She lives in Porto [2].")
    answer = memory.ask("Where does Ana's sister live?")
    assert str(answer) == "She lives in Porto [2]."
    assert [passage.source for passage in answer.citations] == ["diary"]
    assert (answer.found, answer.dangling) == (True, ())
    assert "Ana's sister moved to Porto." in llm.requests[0].text
    assert "2026-05-03" in llm.requests[0].text
    spent = memory.stats().spent[0]
    assert (spent.operation, spent.model, spent.calls) == ("ask", "scripted", 1)
    assert spent.prompt_tokens == answer.usage.prompt_tokens > 0


def test_a_citation_of_nothing_is_pointed_out(open_memory: Open) -> None:
    memory, _ = remembering(open_memory, "In Porto [1, 9].", "It is not in the memory.")
    assert memory.ask("Where does Ana's sister live?").dangling == (9,)
    assert not memory.ask("Who is the king?").found


@pytest.mark.both_engines
def test_a_filter_holds_for_what_the_model_is_shown(open_memory: Open) -> None:
    memory, llm = remembering(open_memory, "It is not in the memory.")
    memory.ask("Where does Ana's sister live?", source="novel.txt")
    assert "Porto" not in llm.requests[0].text


@pytest.mark.parametrize(
    ("llm", "error", "message"),
    [
        ("gpt-4o", UnknownName, r"'gpt-4o' .* give a \*\.gguf path or an address"),
        ("none.gguf", LLMNotConfigured, "cannot read the model 'none.gguf'"),
        ("http://localhost:1/v1", LLMNotConfigured, "which model of http://localhost:1/v1"),
    ],
)
def test_a_model_that_cannot_be_meant_is_refused_when_the_memory_is_opened(
    path: Path, no_llm: None, llm: str, error: type[TreeringError], message: str
) -> None:
    with pytest.raises(error, match=message):
        Memory.open(path, embedder=HashingEmbedder(), llm=llm)
    assert not path.exists()


def test_without_a_model_ask_says_how_to_configure_one(open_memory: Open, no_llm: None) -> None:
    memory = open_memory()
    memory.add("Ana's sister moved to Porto.")
    with pytest.raises(LLMNotConfigured):
        memory.ask("Where?")
    assert memory.search("Porto")
    assert memory.stats().entries == 1


@pytest.mark.parametrize(
    "error",
    [
        LLMUnavailable("no answer within 60 s"),
        LLMReplyError("an empty reply"),
    ],
)
def test_a_model_that_fails_costs_the_answer_and_nothing_else(
    open_memory: Open, error: Exception
) -> None:
    memory, _ = remembering(open_memory, error, "In Porto [2].")
    with pytest.raises(type(error)):
        memory.ask("Where does Ana's sister live?")
    assert memory.stats().entries == 2
    assert memory.stats().spent == ()
    assert memory.ask("Where does Ana's sister live?").citations


@pytest.mark.parametrize("message", ["", " \n", "a\0"])
def test_a_message_that_is_no_text_is_refused_before_it_costs_anything(
    open_memory: Open, message: str
) -> None:
    memory, llm = remembering(open_memory)
    with pytest.raises(InputError):
        memory.ask(message)
    assert llm.requests == []


def test_a_model_that_was_passed_in_is_not_closed(open_memory: Open) -> None:
    memory, llm = remembering(open_memory, "In Porto.")
    memory.ask("Where?")
    memory.close()
    assert not llm.closed


@pytest.mark.both_engines
def test_the_budget_bounds_the_whole_prompt(open_memory: Open) -> None:
    memory, llm = remembering(open_memory, "In Porto [1].")
    memory.add([{"content": f"Ana's sister wrote letter {n} from Porto."} for n in range(200)])
    memory.ask("Where does Ana's sister live?", budget=700)
    shown = sum(estimate_tokens(message.content) for message in llm.requests[0].messages)
    assert 500 < shown <= 700


def test_the_answer_has_room_in_the_window_of_the_model(open_memory: Open) -> None:
    llm = FakeLLM(["In Porto [1]."], context_window=900)
    memory = open_memory(llm=llm)
    memory.add([{"content": f"Ana's sister wrote letter {n} from Porto."} for n in range(200)])
    memory.ask("Where does Ana's sister live?", budget=5_000)
    [asked] = llm.requests
    assert sum(estimate_tokens(one.content) for one in asked.messages) + asked.max_tokens <= 900


def test_a_budget_without_room_for_a_passage_is_refused(open_memory: Open) -> None:
    memory, llm = remembering(open_memory)
    with pytest.raises(InputError, match=r"the budget is 400 tokens .* Raise the budget"):
        memory.ask("Where does Ana's sister live?", budget=400)
    assert llm.requests == []
