"""Lines become memos when they are due; a model that fails delays and loses nothing."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.memo.talk import messages
from treering import Memory
from treering.errors import LLMReplyError, LLMUnavailable
from treering.llm.scripted import Request, ScriptedLLM
from treering.memo.record import Memo

WAIT_S = 20.0


def topics(*cuts: tuple[str, str, int]) -> str:
    """A reply with a topic, its summary and its last line each."""
    rows, start = [], 1
    for topic, summary, end in cuts:
        rows.append({"topic": topic, "summary": summary, "start": start, "end": end})
        start = end + 1
    return json.dumps(rows)


FIRST = topics(
    ("Ines in Porto", "The sister of user moved to Porto. The rent is 950.", 4),
    ("boat", "user will call the sailmaker.", 8),
    ("dinner", "bot suggests a fish stew.", 10),
)


def one_topic(request: Request) -> str:
    """A model that finds one topic in whatever it is shown."""
    if "Aggregate" in request.text or "Task Conversation" not in request.text:
        return "A summary."
    found = re.search(r"a (\d+)-line", request.text)
    assert found
    return topics(("talk", "user and bot talk.", int(found[1])))


def written(memory: Memory) -> list[Memo]:
    """The memos that settling leaves; the tree's summaries are none of these tests' matter."""
    memory.memos.settle()
    return memory.memos.list()


def lines_of(memory: Memory, memos: list[Memo]) -> list[int]:
    return sorted(memory.get(one).position for memo in memos for one in memo.entry_ids)


def test_due_lines_become_memos_and_the_last_exchange_stays_recent(open_memory: Open) -> None:
    llm = ScriptedLLM([FIRST])
    memory = open_memory(llm=llm)
    memory.add(messages())
    porto, boat, dinner = written(memory)
    assert [one.topic for one in (porto, boat, dinner)] == ["Ines in Porto", "boat", "dinner"]
    assert [(one.spans[0].first, one.spans[0].last) for one in (porto, boat, dinner)] == [
        (0, 3),
        (4, 7),
        (8, 9),
    ]
    assert [one.position for one in memory.memos.recent("chat")] == [10, 11]
    assert (porto.origin, porto.writer) == ("written", "scripted")
    assert memory.stats().pending.get("memo", 0) == 0
    [spent] = [one for one in memory.stats().spent if one.operation == "memo"]
    assert spent.calls == 1
    written(memory)
    assert llm.left == 0


def test_a_claim_that_its_lines_do_not_support_is_marked_and_not_served(open_memory: Open) -> None:
    memory = open_memory(llm=ScriptedLLM([FIRST, "2"]))
    memory.add(messages())
    porto = written(memory)[0]
    assert porto.unsupported == ("The rent is 950.",)
    assert porto.stated == "The sister of user moved to Porto."
    assert "950" not in porto.option
    [evidence] = memory.memos.choose("How is my sister?").evidences
    assert evidence.summary == porto.stated


def test_settling_the_memory_writes_memos(open_memory: Open) -> None:
    memory = open_memory(llm=ScriptedLLM(one_topic))
    memory.add(messages())
    assert memory.settle().pending == {}
    assert [memo.topic for memo in memory.memos.list()] == ["talk"]


def test_without_a_model_nothing_is_written_and_nothing_breaks(
    no_llm: None, memory: Memory
) -> None:
    memory.add(messages())
    assert memory.settle().pending == {}
    assert memory.memos.list() == []
    assert len(memory.memos.recent("chat")) == len(messages())


def test_a_short_dialogue_and_what_is_no_dialogue_are_not_due(open_memory: Open) -> None:
    memory = open_memory(llm=ScriptedLLM([]))
    memory.add(messages(10))
    for n in range(20):
        memory.add(f"Note number {n}.", source="notes")
    assert written(memory) == []


def test_a_model_that_is_down_delays_and_loses_nothing(open_memory: Open) -> None:
    llm = ScriptedLLM([LLMUnavailable("down"), FIRST])
    memory = open_memory(llm=llm)
    memory.add(messages())
    with pytest.raises(LLMUnavailable):
        memory.memos.settle()
    assert memory.memos.list() == []
    assert memory.stats().pending == {"memo": 1}
    assert len(written(memory)) == 3
    assert memory.stats().pending == {}


def test_a_time_out_in_the_middle_keeps_what_was_written_before_it(open_memory: Open) -> None:
    llm = ScriptedLLM([FIRST, LLMUnavailable("timed out"), topics(("numbers", "Lines.", 10))])
    memory = open_memory(llm=llm)
    memory.add(messages(22))
    with pytest.raises(LLMUnavailable):
        memory.memos.settle()
    assert lines_of(memory, memory.memos.list()) == list(range(10))
    assert lines_of(memory, written(memory)) == list(range(20))


def test_one_conversation_that_fails_does_not_hold_up_the_others(open_memory: Open) -> None:
    def answer(request: Request) -> str | Exception:
        return LLMUnavailable("down") if "Line number" in request.text else FIRST

    memory = open_memory(llm=ScriptedLLM(answer))
    memory.add(messages(12, start=100), source="broken")
    memory.add(messages(), source="sound")
    with pytest.raises(LLMUnavailable):
        memory.memos.settle()
    assert {memo.source for memo in memory.memos.list()} == {"sound"}


def test_conversations_are_written_side_by_side(open_memory: Open) -> None:
    together = threading.Barrier(3)

    def wait(_: Request) -> None:
        together.wait(WAIT_S)

    memory = open_memory(llm=ScriptedLLM(one_topic, before_reply=wait))
    for name in ("a", "b", "c"):
        memory.add(messages(), source=name)
    assert {memo.source for memo in written(memory)} == {"a", "b", "c"}


def test_a_crash_between_the_call_and_storing_asks_again(open_memory: Open, path: Path) -> None:
    class Crash(BaseException):
        pass

    def crash(_: Request) -> None:
        raise Crash

    first = open_memory(llm=ScriptedLLM([FIRST], before_reply=crash))
    first.add(messages())
    with pytest.raises(Crash):
        first.memos.settle()
    first.close()
    again = open_memory(path, llm=ScriptedLLM([FIRST]))
    assert again.memos.list() == []
    assert again.stats().pending["memo"] == 1
    assert lines_of(again, written(again)) == list(range(10))


def test_of_two_who_write_the_same_lines_one_stores(open_memory: Open, path: Path) -> None:
    second = open_memory(path, llm=ScriptedLLM([FIRST]))
    llm = ScriptedLLM([FIRST], before_reply=lambda _: second.memos.settle())
    memory = open_memory(llm=llm)
    memory.add(messages())
    assert len(written(memory)) == 3
    [spent] = [one for one in memory.stats().spent if one.operation == "memo"]
    assert spent.calls == 2


def change_to(open_memory: Open, what: Callable[[Memory, str], object]) -> Memory:
    """A memory in which a line was changed while the model wrote about it."""
    other = open_memory()
    done = threading.Event()

    def interfere(request: Request) -> None:
        if not done.is_set():
            done.set()
            what(other, next(other.entries(source="chat")).id)

    memory = open_memory(llm=ScriptedLLM(one_topic, before_reply=interfere))
    memory.add(messages(13))
    memory.memos.settle()
    return memory


def test_what_was_written_about_a_line_that_is_gone_is_dropped(open_memory: Open) -> None:
    memory = change_to(open_memory, lambda other, one: other.forget(one))
    assert memory.memos.list() == []
    assert lines_of(memory, written(memory)) == list(range(1, 10))


def test_what_was_written_about_a_line_that_has_changed_is_dropped(open_memory: Open) -> None:
    memory = change_to(open_memory, lambda other, one: other.replace(one, "Something else."))
    assert memory.memos.list() == []
    assert lines_of(memory, written(memory)) == list(range(10))


def test_what_a_forgotten_line_leaves_is_written_again(open_memory: Open) -> None:
    memory = open_memory(llm=ScriptedLLM(one_topic))
    memory.add(messages(34))
    assert lines_of(memory, written(memory)) == list(range(30))
    gone = next(one for one in memory.entries(source="chat") if one.position == 12)
    memory.forget(gone.id)
    left = [at for at in range(30) if at != 12]
    assert lines_of(memory, written(memory)) == left


def test_a_topic_that_comes_up_again_extends_its_memo(open_memory: Open) -> None:
    again = topics(("Boats", "The boat sails again.", 4), ("numbers", "Lines.", 10))
    memory = open_memory(llm=ScriptedLLM([FIRST, again]))
    memory.add(messages(22))
    memos = {memo.topic: memo for memo in written(memory)}
    assert set(memos) == {"Ines in Porto", "boat", "dinner", "numbers"}
    boat = memos["boat"]
    assert [(span.first, span.last) for span in boat.spans] == [(4, 7), (10, 13)]
    assert boat.summary == "user will call the sailmaker. The boat sails again."
    assert boat.version == 2
    assert [one.version for one in memory.memos.history(boat.id)] == [1, 2]


def test_a_topic_of_another_conversation_is_another_memo(open_memory: Open) -> None:
    memory = open_memory(llm=ScriptedLLM([FIRST, FIRST]))
    memory.add(messages(), source="a")
    memory.add(messages(), source="b")
    assert len(written(memory)) == 6


def test_a_deleted_memo_is_not_written_again(open_memory: Open) -> None:
    memory = open_memory(llm=ScriptedLLM([FIRST]))
    memory.add(messages())
    for memo in written(memory):
        memory.memos.delete(memo.id)
    assert written(memory) == []
    assert [one.position for one in memory.memos.recent("chat")] == [10, 11]


def test_a_reply_that_cannot_be_read_leaves_one_entry_for_all_lines(open_memory: Open) -> None:
    memory = open_memory(llm=ScriptedLLM(["no", "no"]))
    memory.add(messages())
    [memo] = written(memory)
    assert (memo.topic, memo.origin) == ("NOTO", "fallback")
    assert lines_of(memory, [memo]) == list(range(10))


def test_a_reply_that_is_refused_leaves_the_fallback_too(open_memory: Open) -> None:
    memory = open_memory(llm=ScriptedLLM([LLMReplyError("refused")]))
    memory.add(messages())
    assert [memo.origin for memo in written(memory)] == ["fallback"]


def test_memos_are_embedded_anew_with_another_model(open_memory: Open) -> None:
    from tests.embedders import HashingEmbedder

    memory = open_memory(llm=ScriptedLLM([FIRST, "Summary.", "Summary."]))
    memory.add(messages())
    written(memory)
    memory.reembed(HashingEmbedder("other", 32))
    best = memory.memos.search("sailmaker boat", mode="dense")[0]
    assert best.memo.topic == "boat"
    assert best.why.cosine
