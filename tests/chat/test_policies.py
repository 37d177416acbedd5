"""What each policy shows, on a memory that is a list: no model, no file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import get_args

import pytest

from tests.chat.test_conversation import echoing
from tests.conftest import Open
from tests.memo.talk import messages, place
from treering.chat.policies import POLICIES, find_policy
from treering.chat.policy import Evidence, Exchange, Turn, newest, tokens
from treering.chat.sources import MemorySources
from treering.llm.scripted import FakeLLM, Line, Request
from treering.llm.tokens import estimate_tokens
from treering.records import Context, Entry, Hit, Why
from treering.sharing import AskedSpaces
from treering.views.choices import PolicyName, SpaceSettings
from treering.views.memos.record import Memo, MemoEvidence, Span

NOW = datetime(2026, 5, 3, tzinfo=UTC)


def words(text: str) -> int:
    return len(text.split())


def said(*texts: str) -> tuple[Entry, ...]:
    return tuple(
        Entry(
            id=f"e{number}",
            text=text,
            source="chat",
            position=number,
            kind="chat",
            added=NOW,
            speaker="user" if number % 2 == 0 else "bot",
            role="user" if number % 2 == 0 else "assistant",
        )
        for number, text in enumerate(texts)
    )


def exchange(entries: Sequence[Entry], score: float) -> Exchange:
    hits = tuple(
        Hit(
            *(score, one.text, one.id, one.source, one.position, 0, len(one.text), one.kind),
            *(Why({}), one.at, one.speaker, one.role),
        )
        for one in entries
    )
    return Exchange(hits, score)


@dataclass
class Listed:
    """Sources that give back what a test put in; ``asked`` holds the queries."""

    found: Sequence[Exchange] = ()
    summaries: Sequence[Evidence] = ()
    memo_evidences: Sequence[MemoEvidence] = ()
    told: Sequence[Evidence] = ()
    covered: frozenset[str] = frozenset()
    asked: list[str] = field(default_factory=list)

    def passages(self, query: str, budget: int, without: frozenset[str]) -> Context:
        self.asked.append(query)
        return Context(query, (), "", 0, budget)

    def exchanges(self, query: str, k: int, without: frozenset[str]) -> Sequence[Exchange]:
        self.asked.append(query)
        return [one for one in self.found if not without.issuperset(one.entries)]

    def memos(self, query: str) -> Sequence[Evidence]:
        return self.told

    def choose_memos(self, query: str) -> Sequence[MemoEvidence]:
        return self.memo_evidences

    def written_lines(self, source: str) -> frozenset[str]:
        return self.covered

    def nodes(self, query: str, budget: int) -> Sequence[Evidence]:
        return self.summaries


def turn(message: str, history: Sequence[Entry], room: int) -> Turn:
    return Turn(message, tuple(history), room, words)


def test_every_policy_that_is_named_is_there() -> None:
    assert set(POLICIES) == set(get_args(PolicyName))
    assert all(find_policy(name).name == name for name in POLICIES)


def test_window_shows_the_newest_end_that_fits() -> None:
    history = said("one two", "three", "four five", "six")
    shown = find_policy("window").materials(turn("Go on.", history, 13), Listed())
    assert [entry.text for entry in shown.recent] == ["four five", "six"]
    assert newest(history, 100, words) == history


def test_fragments_asks_with_the_last_round_and_the_message() -> None:
    history = said(*(f"line {number}" for number in range(30)))
    sources = Listed()
    shown = find_policy("fragments").materials(turn("And now?", history, 100), sources)
    assert sources.asked == ["line 28\nline 29\nAnd now?"]
    assert shown.recent == history[-2:]


def test_a_short_conversation_is_shown_whole_and_nothing_is_recalled() -> None:
    history, sources = said("Hi.", "Hello."), Listed()
    shown = find_policy("fragments").materials(turn("And now?", history, 500), sources)
    assert (shown.recent, shown.evidences, sources.asked) == (history, (), [])


def test_auto_shows_exchanges_whole_then_others_in_brief_in_the_order_they_were_said() -> None:
    history = said(*(f"line {number}" for number in range(300)))
    long = said("Why? " + "Because it is so and so. " * 80, "I see.")
    found = [exchange(history[4:6], 2.0), exchange(long, 1.5), exchange(history[2:4], 1.0)]
    shown = find_policy("auto").materials(turn("And now?", history, 400), Listed(found))
    texts = [evidence.text for evidence in shown.evidences]
    assert texts[-2:] == ["chat\nuser: line 2\nbot: line 3", "chat\nuser: line 4\nbot: line 5"]
    assert texts[0].startswith("chat, in brief\nuser: Why?")
    assert [evidence.whole for evidence in shown.evidences] == [(), ("e2", "e3"), ("e4", "e5")]


@pytest.mark.parametrize(("lines", "fills"), [(80, True), (200, False)])
def test_a_conversation_that_nearly_fits_fills_the_room(lines: int, fills: bool) -> None:
    history = said(*(f"line {number}" for number in range(lines)))
    elsewhere = replace(said("Elsewhere.")[0], id="other", source="diary")
    found = [
        exchange(history[4:6], 2.0), exchange([elsewhere], 0.1), exchange(history[2:4], -1.0)
    ]  # fmt: skip
    room = int(0.9 * tokens(history[:80], words))
    shown = find_policy("auto").materials(turn("And now?", history, room), Listed(found))
    whole = {entry for evidence in shown.evidences for entry in evidence.whole}
    assert whole == ({"e2", "e3", "e4", "e5"} if fills else {"e4", "e5"})


def test_auto_searches_for_the_message_alone() -> None:
    history, sources = said(*(f"line {number}" for number in range(40))), Listed()
    find_policy("auto").materials(turn("And now?", history, 100), sources)
    assert sources.asked == ["And now?"]


def test_auto_tells_by_memo_what_it_does_not_show() -> None:
    history = said(*(f"line {number}" for number in range(40)))
    shown_whole = Evidence("chat, memo\nlines: Two lines.", brief=("e4", "e5"))
    other = Evidence("chat, memo\nnumbers: Lines have numbers.", brief=("e2", "e3"))
    sources = Listed([exchange(history[4:6], 2.0)], told=[shown_whole, other])
    shown = find_policy("auto").materials(turn("And now?", history, 150), sources)
    assert [evidence.text for evidence in shown.evidences] == [
        "chat, memo\nnumbers: Lines have numbers.",
        "chat\nuser: line 4\nbot: line 5",
    ]


def test_auto_shows_nothing_where_nothing_relates() -> None:
    """Such as by words alone, while the embedding model is down, and with none in common."""
    history = said(*(f"Line {number}." for number in range(40)))
    found = [exchange([one], 0.0) for one in said("Rivers are long.", "They are.")]
    shown = find_policy("auto").materials(turn("Zebras?", history, 60), Listed(found))
    assert shown.evidences == ()


def test_a_memo_that_does_not_fit_leaves_room_for_the_next() -> None:
    history = said(*(f"Line {number} of the talk." for number in range(40)))
    told = [Evidence("word " * 500, brief=("a",)), Evidence("boat: It leaks.", brief=("b",))]
    shown = find_policy("auto").materials(turn("And?", history, 120), Listed(told=told))
    assert [one.text for one in shown.evidences] == ["boat: It leaks."]


def test_memo_shows_evidences_as_the_paper_does_and_what_is_not_written_yet() -> None:
    history = said("I want a job.", "Which one?", "Any.", "Good.")
    span = Span("chat", 0, 1, ("e0", "e1"))
    memo = Memo("m", "find a job", (), (span,), "written", NOW)
    chosen = MemoEvidence(memo, memo.topic, "user wants a job.", ("user: I want a job.", "bot: Hm"))
    sources = Listed(memo_evidences=[chosen], covered=frozenset(memo.entry_ids))
    shown = find_policy("memo").materials(turn("Which job?", history, 100), sources)
    assert [evidence.text for evidence in shown.evidences] == [
        '{"Related Topics": "find a job", "Related Summaries": "user wants a job.", '
        '"Related Dialogs": "user: I want a job. ### bot: Hm"}'
    ]
    assert [entry.id for entry in shown.recent] == ["e2", "e3"]


def test_a_memo_that_is_too_long_loses_lines_and_keeps_its_summary() -> None:
    lines = tuple(f"user: {'word ' * 10}{number}" for number in range(5))
    ids = tuple(f"e{number}" for number in range(5))
    memo = Memo("m", "words", (), (Span("chat", 0, 4, ids),), "written", NOW)
    sources = Listed(memo_evidences=[MemoEvidence(memo, "words", "user says words.", lines)])
    [evidence] = find_policy("memo").materials(turn("Words?", (), 60), sources).evidences
    assert evidence.entries == ids
    assert 0 < len(evidence.whole) < 5
    assert "user says words." in evidence.text
    assert find_policy("memo").materials(turn("Words?", (), 5), sources).evidences == ()


def test_the_memo_policy_writes_chooses_and_answers(open_memory: Open) -> None:
    def reply(request: Request) -> Line:
        if lines := re.findall(r"Divide these (\d+) lines", request.text):
            return (
                '[{"topic": "Porto", "summary": "user moved to Porto.", "start": 1, "end": 2},'
                ' {"topic": "numbers", "summary": "user names numbers.", "start": 3, "end": '
                f"{lines[-1]}}}]"
            )
        if "Topic Options" in request.text:
            return "2"
        return "Noted."

    memory = open_memory(llm=FakeLLM(reply))
    memory.chat("I relocated to Porto.", policy="memo")
    for number in range(5):
        memory.chat(f"Number {number}.", policy="memo")
    memory.chat("Where did I move to?", policy="memo")
    llm = memory._account.llm()
    assert isinstance(llm, FakeLLM)
    shown = llm.requests[-1].text
    assert '"Related Topics": "Porto", "Related Summaries": "user moved to Porto."' in shown
    assert "user: I relocated to Porto." in shown
    assert {one.operation for one in memory.stats().spent} >= {"chat", "memo"}


def test_the_memo_policy_marks_what_does_not_hold_any_more(open_memory: Open) -> None:
    def reply(request: Request) -> Line:
        return "2" if "Topic Options" in request.text else "user lives by a river."

    memory = open_memory(llm=FakeLLM(reply))
    memory.add({"role": "user", "content": "I live in Berlin by the river.", "at": "2025-01-10"})
    memory.add(messages(11, start=12))
    place(memory, "home Berlin", "user lives in Berlin by the river.", 0, 3)
    memory.add(
        {"role": "user", "content": "I relocated to Porto.", "at": "2026-05-03"}, source="new"
    )
    shown = str(memory.chat_prompt("Do I live by the river?", policy="memo", source="other"))
    since = "since 2026-05-03: I relocated to Porto.)"
    assert f"by the river. (possibly out of date {since}" in shown
    assert f"by the river. (superseded {since} ### user" in shown


def test_a_summary_of_what_does_not_hold_any_more_is_marked(open_memory: Open) -> None:
    memory = open_memory(llm=FakeLLM(lambda _: "user lives by a river."))
    for river in ("Spree", "Havel", "Panke"):
        text = f"I live in Berlin by the river {river}, and the river is long and wide."
        memory.add({"role": "user", "content": text, "at": "2025-01-10"})
    memory.add(
        {"role": "user", "content": "I relocated to Porto.", "at": "2026-05-03"}, source="new"
    )
    memory.tree.settle()  # somebody uses the tree
    memory.settle()
    settings = SpaceSettings()
    own = AskedSpaces.of_one(memory._views, settings)
    sources = MemorySources(memory._views, own, estimate_tokens)
    assert [one.text for one in sources.nodes("river", 60)] == [
        "Summary of 3 texts: user lives by a river."
        " (possibly out of date since 2026-05-03: I relocated to Porto.)"
    ]


def test_auto_marks_what_does_not_hold_any_more(open_memory: Open) -> None:
    memory, llm = echoing(open_memory)
    memory.add({"role": "user", "content": "I live in Berlin.", "at": "2025-01-10"}, source="old")
    memory.add(
        {"role": "user", "content": "I relocated to Porto.", "at": "2026-05-03"}, source="new"
    )
    memory.chat("Do I live in Berlin?")
    shown = llm.requests[-1].text
    assert "user: I live in Berlin. (superseded since 2026-05-03: I relocated to Porto.)" in shown
    assert "new, 2026-05-03 00:00\n user: I relocated to Porto." in shown
