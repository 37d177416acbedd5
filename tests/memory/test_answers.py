"""Asking and chatting: cited answers, and models that are missing, slow, or talk nonsense."""

from __future__ import annotations

import pytest

from tests.conftest import Open
from treering import Memory
from treering.answer import CHAT_WHOLE_ROUNDS
from treering.errors import EmptyText, InputError, LLMNotConfigured, LLMReplyError, LLMUnavailable
from treering.llm.contract import Reply, Usage
from treering.llm.scripted import Line, Request, ScriptedLLM


def remembering(open_memory: Open, *lines: Line) -> tuple[Memory, ScriptedLLM]:
    llm = ScriptedLLM(lines)
    memory = open_memory(llm=llm)
    memory.add("Ana's sister moved to Porto.", source="diary", at="2026-05-03")
    memory.add("Ben rows on the river.", source="novel.txt")
    return memory, llm


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


def test_an_empty_memory_is_not_asked(open_memory: Open) -> None:
    llm = ScriptedLLM([])
    answer = open_memory(llm=llm).ask("Where does Ana's sister live?")
    assert (answer.found, answer.citations, llm.requests) == (False, (), [])


def test_a_filter_holds_for_what_the_model_is_shown(open_memory: Open) -> None:
    memory, llm = remembering(open_memory, "It is not in the memory.")
    memory.ask("Where does Ana's sister live?", source="novel.txt")
    assert "Porto" not in llm.requests[0].text


def test_without_a_model_ask_says_how_to_configure_one(open_memory: Open, no_llm: None) -> None:
    memory = open_memory()
    memory.add("Ana's sister moved to Porto.")
    for call in (memory.ask, memory.chat):
        with pytest.raises(LLMNotConfigured, match=r"Choose one of:\s.*TREERING_LLM_BASE_URL"):
            call("Where?")
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
    memory, _ = remembering(open_memory, error, error, "In Porto [2].", "Hello!")
    with pytest.raises(type(error)):
        memory.ask("Where does Ana's sister live?")
    with pytest.raises(type(error)):
        memory.chat("Hello?")
    assert memory.stats().entries == 2
    assert memory.stats().spent == ()
    assert memory.ask("Where does Ana's sister live?").citations
    memory.chat("Hello?")
    assert [entry.text for entry in memory.entries(source="chat")] == ["Hello?", "Hello!"]


@pytest.mark.parametrize("garbage", ["\ufffd\x07\x1b[31m", "[", "[[[1]]]" * 500, "```[1]", "{}"])
def test_garbage_is_an_answer_that_cites_nothing_that_is_not_there(
    open_memory: Open, garbage: str
) -> None:
    memory, _ = remembering(open_memory, garbage, garbage)
    answer = memory.ask("Where does Ana's sister live?")
    assert answer.context is not None
    assert all(passage in answer.context.passages for passage in answer.citations)
    assert memory.chat("Hello?").text == garbage.strip()
    assert memory.check() == []


@pytest.mark.parametrize("garbage", ["nul \0", "surrogate \ud800"])
def test_a_reply_that_cannot_be_remembered_is_an_error_of_the_model(
    open_memory: Open, garbage: str
) -> None:
    memory, _ = remembering(open_memory, garbage, "Hello!")
    with pytest.raises(LLMReplyError, match="cannot be remembered"):
        memory.chat("Hello?")
    assert list(memory.entries(source="chat")) == []
    assert memory.stats().spent[0].calls == 1
    assert memory.chat("Hello?").text == "Hello!"


def test_a_chat_is_remembered_and_shown_as_a_whole_while_it_is_short(open_memory: Open) -> None:
    memory, llm = remembering(open_memory, "Nice to meet you.", "You are Ana.")
    memory.chat("I am Ana.")
    memory.chat("Who am I?")
    assert "I am Ana." in llm.requests[1].text
    assert "Nice to meet you." in llm.requests[1].text
    assert [(entry.role, entry.text) for entry in memory.entries(source="chat")] == [
        ("user", "I am Ana."),
        ("assistant", "Nice to meet you."),
        ("user", "Who am I?"),
        ("assistant", "You are Ana."),
    ]


def test_a_long_chat_is_recalled(open_memory: Open) -> None:
    def reply(request: Request) -> Reply:
        return Reply(f"Reply {len(llm.requests)}.", Usage(calls=1), "scripted", "stop")

    llm = ScriptedLLM(reply)
    memory = open_memory(llm=llm)
    memory.chat("My sister moved to Porto.")
    for number in range(CHAT_WHOLE_ROUNDS + 2):
        memory.chat(f"Topic {number}.")
    answer = memory.chat("Where did my sister move?")
    shown = llm.requests[-1].text
    assert "My sister moved to Porto." in shown
    assert "Topic 11." in shown
    assert answer.context is not None
    assert answer.context.tokens <= 2_000


def test_a_long_message_in_a_chat_does_not_end_it(open_memory: Open) -> None:
    memory, _ = remembering(open_memory, *["Go on."] * 3)
    memory.chat("word " * 6_000)
    assert memory.chat("And now?", budget=50_000).text == "Go on."
    assert memory.chat("And then?", budget=100).text == "Go on."


@pytest.mark.parametrize("message", ["", " \n", "a\0"])
def test_a_message_that_is_no_text_is_refused_before_it_costs_anything(
    open_memory: Open, message: str
) -> None:
    memory, llm = remembering(open_memory)
    with pytest.raises(InputError):
        memory.chat(message)
    with pytest.raises(InputError):
        memory.ask(message)
    assert llm.requests == []


def test_the_same_words_said_twice_in_a_chat_are_both_remembered(open_memory: Open) -> None:
    memory, _ = remembering(open_memory, "ok", "ok")
    memory.chat("Go on.")
    memory.chat("Go on.")
    assert len(list(memory.entries(source="chat"))) == 4


def test_a_model_that_was_passed_in_is_not_closed(open_memory: Open) -> None:
    memory, llm = remembering(open_memory, "In Porto.")
    memory.ask("Where?")
    memory.close()
    assert not llm.closed


def test_a_blank_question_is_empty(open_memory: Open) -> None:
    memory, _ = remembering(open_memory)
    with pytest.raises(EmptyText):
        memory.ask(" ")
