"""Lines become memos when they are due; a model that fails delays and loses nothing."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.memo.talk import bytes_of, messages
from treering import Memory
from treering.errors import LLMReplyError, LLMUnavailable
from treering.llm.scripted import FakeLLM, Request
from treering.views.memos.record import Memo

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
    found = re.search(r"Divide these (\d+) lines", request.messages[-1].content)
    return topics(("talk", "user and bot talk.", int(found[1]))) if found else "A summary."


def written(memory: Memory) -> list[Memo]:
    """The memos that settling leaves; the tree's summaries are none of these tests' matter."""
    memory.memos.settle()
    return memory.memos.list()


def lines_of(memory: Memory, memos: list[Memo]) -> list[int]:
    return sorted(memory.get(one).position for memo in memos for one in memo.entry_ids)


def test_due_lines_become_memos_and_the_last_exchange_stays_recent(open_memory: Open) -> None:
    llm = FakeLLM([FIRST])
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


@pytest.mark.parametrize("preset", ["default", "memochat"])
def test_a_claim_that_its_lines_do_not_support_is_marked_and_not_served(
    open_memory: Open, preset: str
) -> None:
    summary = "The sister of user moved to Porto, which is a beautiful city. The rent is 950."
    rows = topics(("Ines in Porto", summary, 4), ("boat", "user will call the sailmaker.", 10))
    memory = open_memory(llm=FakeLLM([rows, "none of them"]))
    memory.configure(preset)
    memory.add(messages())
    porto = written(memory)[0]
    assert porto.unsupported == ("which is a beautiful city.", "The rent is 950.")
    assert porto.stated == "The sister of user moved to Porto."
    assert porto.option == f"Ines in Porto. {porto.stated}"
    evidence = memory.memos.choose("How is my sister in Porto?").evidences[0]
    assert evidence.summary == porto.stated


def test_without_a_model_nothing_is_written_and_nothing_breaks(
    no_llm: None, memory: Memory
) -> None:
    memory.add(messages())
    assert memory.settle().pending == {}
    assert memory.memos.list() == []
    assert len(memory.memos.recent("chat")) == len(messages())


def test_a_model_that_is_down_delays_and_loses_nothing(open_memory: Open) -> None:
    llm = FakeLLM([LLMUnavailable("down"), FIRST])
    memory = open_memory(llm=llm)
    memory.add(messages(10))
    assert "memo" not in memory.stats().pending
    memory.add(messages(2, start=10))
    assert memory.stats().pending["memo"] == 1
    with pytest.raises(LLMUnavailable):
        memory.memos.settle()
    assert memory.memos.list() == []
    assert memory.stats().pending["memo"] == 1
    assert len(written(memory)) == 3
    assert "memo" not in memory.stats().pending


def test_one_conversation_that_fails_does_not_hold_up_the_others(open_memory: Open) -> None:
    def answer(request: Request) -> str | Exception:
        return LLMUnavailable("down") if "Line number" in request.text else FIRST

    memory = open_memory(llm=FakeLLM(answer))
    memory.add(messages(12, start=100), source="broken")
    memory.add(messages(), source="sound")
    with pytest.raises(LLMUnavailable):
        memory.memos.settle()
    assert {memo.source for memo in memory.memos.list()} == {"sound"}


def test_a_crash_between_the_call_and_storing_asks_again(open_memory: Open, path: Path) -> None:
    class Crash(BaseException):
        pass

    def crash(_: Request) -> None:
        raise Crash

    first = open_memory(llm=FakeLLM([FIRST], before_reply=crash))
    first.add(messages())
    with pytest.raises(Crash):
        first.memos.settle()
    first.close()
    again = open_memory(path, llm=FakeLLM([FIRST]))
    assert again.memos.list() == []
    assert again.stats().pending["memo"] == 1
    assert lines_of(again, written(again)) == list(range(10))


def test_of_two_who_write_the_same_lines_one_stores(open_memory: Open, path: Path) -> None:
    second = open_memory(path, llm=FakeLLM([FIRST]))
    llm = FakeLLM([FIRST], before_reply=lambda _: second.memos.settle())
    memory = open_memory(llm=llm)
    memory.add(messages())
    assert len(written(memory)) == 3
    [spent] = [one for one in memory.stats().spent if one.operation == "memo"]
    assert spent.calls == 2


def test_what_another_settler_queues_meanwhile_stays_queued(open_memory: Open, path: Path) -> None:
    second = open_memory(path, llm=FakeLLM([LLMUnavailable("down")]))
    llm = Counting(one_topic)
    memory = open_memory(llm=llm)
    memory.add(messages())

    def fail() -> None:
        second.add(messages(), source="later")
        with pytest.raises(LLMUnavailable):
            second.memos.settle(source="later")

    llm.meanwhile = fail
    assert {memo.source for memo in written(memory)} == {"chat"}
    assert memory.stats().pending["memo"] == 1


class Counting(FakeLLM):
    """A model, before whose first count of tokens something else happens."""

    meanwhile: Callable[[], object] | None = None

    def count_tokens(self, text: str) -> int:
        happening, self.meanwhile = self.meanwhile, None
        if happening:
            happening()
        return super().count_tokens(text)


def test_a_change_imported_after_settling_replaces_what_it_stands_for(
    open_memory: Open, tmp_path: Path
) -> None:
    memory = open_memory(llm=FakeLLM([FIRST]))
    memory.add(messages())
    before = list(memory.export())
    porto, boat, _ = written(memory)
    memory.memos.edit(porto.id, pinned=True)
    memory.memos.edit(boat.id, topic="sails")
    with open_memory(tmp_path / "other.db", llm=FakeLLM([FIRST])) as other:
        other.import_(before)
        other.memos.settle()
        other.import_(memory.export())
        assert lines_of(other, other.memos.list()) == list(range(10))
        assert {one.id for one in other.memos.list()} > {porto.id, boat.id}


SECRET = "the passphrase is zanzibar aardvark"


def quoting(request: Request) -> LLMUnavailable:
    """An endpoint whose errors quote what it was sent."""
    return LLMUnavailable(f"refused: {SECRET if SECRET in request.text else ''}")


def test_an_error_that_quotes_a_line_forgotten_meanwhile_is_not_kept(
    open_memory: Open, path: Path
) -> None:
    other = open_memory(path)
    lines = messages()
    lines[3]["content"] = SECRET

    def forget(_: Request) -> None:
        [line] = [one for one in other.entries() if SECRET in one.text]
        other.forget(line.id)

    memory = open_memory(llm=FakeLLM(quoting, before_reply=forget))
    memory.add(lines)
    with pytest.raises(LLMUnavailable):
        memory.memos.settle()
    for one in (memory, other):
        one.close()
    assert SECRET.encode() not in bytes_of(path)


def change_to(open_memory: Open, what: Callable[[Memory, str], object]) -> Memory:
    """A memory in which a line was changed while the model wrote about it."""
    other = open_memory()
    done = threading.Event()

    def interfere(request: Request) -> None:
        if not done.is_set():
            done.set()
            what(other, next(other.entries(source="chat")).id)

    memory = open_memory(llm=FakeLLM(one_topic, before_reply=interfere))
    memory.add(messages(13))
    memory.memos.settle()
    return memory


@pytest.mark.parametrize("erase", [True, False], ids=["gone", "changed"])
def test_what_was_written_about_a_line_that_went_is_dropped(open_memory: Open, erase: bool) -> None:
    def change(other: Memory, entry_id: str) -> object:
        return other.forget(entry_id) if erase else other.replace(entry_id, "Something else.")

    memory = change_to(open_memory, change)
    assert memory.memos.list() == []
    assert lines_of(memory, written(memory)) == list(range(erase, 10))


def test_a_topic_that_comes_up_again_extends_its_memo(open_memory: Open) -> None:
    again = topics(("Boats", "The boat sails again.", 4), ("numbers", "Lines.", 10))
    memory = open_memory(llm=FakeLLM([FIRST, again]))
    memory.add(messages(22))
    memos = {memo.topic: memo for memo in written(memory)}
    assert set(memos) == {"Ines in Porto", "boat", "dinner", "numbers"}
    boat = memos["boat"]
    assert [(span.first, span.last) for span in boat.spans] == [(4, 7), (10, 13)]
    assert boat.summary == "user will call the sailmaker. The boat sails again."


def test_a_memo_does_not_grow_without_end(open_memory: Open) -> None:
    memory = open_memory(llm=FakeLLM(one_topic))
    memory.add(messages(82))
    memos = written(memory)
    assert [(one.topic, len(one.entry_ids)) for one in memos] == [("talk", 60), ("talk", 20)]


def test_a_deleted_memo_is_not_written_again(open_memory: Open) -> None:
    memory = open_memory(llm=FakeLLM([FIRST]))
    memory.add(messages())
    for memo in written(memory):
        memory.memos.delete(memo.id)
    assert written(memory) == []
    assert [one.position for one in memory.memos.recent("chat")] == [10, 11]


@pytest.mark.parametrize("script", [["no", "no"], [LLMReplyError("refused")]])
def test_a_reply_that_cannot_be_read_leaves_one_entry_for_all_lines(
    open_memory: Open, script: list[str | Exception]
) -> None:
    memory = open_memory(llm=FakeLLM(script))
    memory.add(messages())
    [memo] = written(memory)
    assert (memo.topic, memo.origin) == ("NOTO", "fallback")
    assert lines_of(memory, [memo]) == list(range(10))


def test_a_fallback_is_asked_about_again_on_demand(open_memory: Open) -> None:
    memory = open_memory(llm=FakeLLM(["no", "no", "no", "no", FIRST]))
    memory.add(messages())
    before = written(memory)
    memory.memos.settle(upgrade=True)
    assert [memo.origin for memo in memory.memos.list()] == ["fallback"]
    memory.memos.settle(upgrade=True)
    after = memory.memos.list()
    assert [memo.topic for memo in after] == ["Ines in Porto", "boat", "dinner"]
    assert lines_of(memory, after) == lines_of(memory, before)
    memory.memos.settle(upgrade=True)
    assert memory.memos.list() == after
    assert memory.check() == []


def whatever(seed: int) -> Callable[[Request], str | Exception]:
    """A model that partitions anyhow, talks nonsense, or is down."""
    rng = random.Random(seed)

    def answer(request: Request) -> str | Exception:
        found = re.search(r"Divide these (\d+) lines", request.messages[-1].content)
        kind = rng.choice(["parts", "parts", "nonsense", "down"])
        if kind == "down":
            return LLMUnavailable("down")
        if kind == "nonsense" or not found:
            return "nonsense"
        count = int(found[1])
        ends = sorted({count, *rng.choices(range(1, count + 1), k=2)})
        return topics(*((f"topic {end % 3}", "It is so.", end) for end in ends))

    return answer


def in_memos(memory: Memory) -> list[str]:
    return [one for memo in memory.memos.list() for one in memo.entry_ids]


@settings(max_examples=8)
@given(
    seed=st.integers(0, 1 << 32),
    steps=st.lists(st.tuples(st.integers(1, 25), st.integers(0, 40)), min_size=1, max_size=4),
)
def test_every_line_is_recent_or_in_exactly_one_memo_whatever_happens(
    seed: int, steps: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Lines come and are forgotten; the model partitions, fails, or talks nonsense."""
    path = tmp_path_factory.mktemp("any") / "life.db"
    llm = FakeLLM(whatever(seed))
    with Memory.open(path, embedder=HashingEmbedder(), llm=llm) as memory:
        said = 0
        for more, gone in steps:
            memory.add(messages(more, start=said))
            said += more
            with suppress(LLMUnavailable):
                memory.memos.settle(upgrade=bool(more % 2))
            lines = [one.id for one in memory.entries(source="chat")]
            found = in_memos(memory)
            assert len(found) == len(set(found))
            assert set(found) <= set(lines)
            if gone < len(lines):
                memory.forget(lines[gone])
        settle_at_last(memory)
        recent = [one.id for one in memory.memos.recent("chat")]
        lines = [one.id for one in memory.entries(source="chat")]
        assert sorted([*in_memos(memory), *recent]) == sorted(lines)
        assert memory.check() == []


def settle_at_last(memory: Memory) -> None:
    for _ in range(100):
        try:
            return memory.memos.settle()
        except LLMUnavailable:
            continue
    raise AssertionError("nothing gets done")


class Uncountable(FakeLLM):
    """A model that is down while tokens are counted."""

    def count_tokens(self, text: str) -> int:
        raise LLMUnavailable("down")


def test_counting_what_is_pending_needs_no_model_that_works(open_memory: Open) -> None:
    memory = open_memory(llm=Uncountable([]))
    memory.add(messages(12))
    assert memory.stats().pending["memo"] == 1


def test_a_rebuild_keeps_what_a_person_wrote_in_a_memo_that_was_extended(
    open_memory: Open,
) -> None:
    memory = open_memory(llm=FakeLLM(one_topic))
    memory.add(messages(12))
    [memo] = written(memory)
    memory.memos.edit(memo.id, summary="Ines lives in Porto.")
    memory.add(messages(10, start=12))
    [extended] = written(memory)
    assert (extended.id, extended.origin, len(extended.entry_ids)) == (memo.id, "written", 20)
    memory.rebuild("memo")
    assert memory.memos.list() == [extended]
