"""Rows for tuning, made of dialogues whose topics are known: prompts are treering's own."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from treering.errors import InputError
from treering.tune.train import read_rows
from treering.views.memos.choose import NONE_OF_THE_OTHERS, read_numbers
from treering_bench.dialogues import (
    Dialogue,
    DialogueTopic,
    apart_from,
    check_ranges,
    dialogues,
    prompt_and_reply,
    separated,
)
from treering_bench.tune_rows import InstructionRow, RowOptions, Task, instruction_rows
from worlds import Bench

SUBJECTS = ("boats", "bread", "chess", "dogs", "eggs", "ferns", "goats", "hats", "ink", "jam")


def dialogue(subject: str, turns: int = 2) -> dict[str, Any]:
    messages = []
    for turn in range(turns):
        messages += [
            {"role": "user", "content": f"What do you really know about {subject}, part {turn}?"},
            {"role": "assistant", "content": f"A good deal about {subject}, as for part {turn}."},
        ]
    return {"messages": messages, "topic": subject, "summary": f"user asks about {subject}."}


def write(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


@pytest.fixture
def spoken(tmp_path: Path) -> list[Dialogue]:
    return dialogues(write(tmp_path / "own.jsonl", [dialogue(subject) for subject in SUBJECTS]))


def rows(spoken: list[Dialogue], task: Task, count: int = 40, **how: Any) -> list[InstructionRow]:
    return list(instruction_rows(spoken, RowOptions(count=count, tasks=(task,), **how)))


def test_conversations_on_one_topic_and_on_several_are_read(tmp_path: Path) -> None:
    topics = [{"topic": "a", "start": 1, "end": 1}, {"topic": "b", "start": 2, "end": 4}]
    several = {"messages": dialogue("boats")["messages"], "topics": topics}
    one, (first, second) = dialogues(write(tmp_path / "own.jsonl", [dialogue("boats", 1), several]))
    lines = (
        "user: What do you really know about boats, part 0?",
        "bot: A good deal about boats, as for part 0.",
    )
    assert one == (DialogueTopic("boats", "user asks about boats.", lines),)
    assert (first.name, len(first.lines), first.summary) == ("a", 1, "")
    assert (second.name, len(second.lines)) == ("b", 3)
    assert separated([(first, second)]) == [(first,), (second,)]


def test_dialogsum_and_both_forms_of_memochat_are_read(tmp_path: Path) -> None:
    dialogsum = {
        "dialogue": "#Person1#: I ' m off.\n#Person2#: Bye.",
        "summary": "#Person1# leaves.",
        "topic": "leaving",
    }
    text = "Task\n(line 1) user: Hello\n(line 2) bot: Hi\nTask Result:"
    answer = '[{"topic": "greeting", "start": 1, "end": 2}]'
    memochat = {"type": "writing_x", "text": text, "answer": answer}
    turns = {"type": "writing_x", "conversations": [{"value": text}, {"value": answer}]}
    other = {"type": "retrieval_x", "text": "…", "answer": "1"}
    path = tmp_path / "list.json"
    path.write_text(json.dumps([dialogsum, other, memochat, turns]), "utf-8")
    [(leaving,), (greeting,), (same,)] = dialogues(path)
    assert leaving == DialogueTopic("leaving", "user leaves.", ("user: I'm off.", "bot: Bye."))
    assert greeting.lines == same.lines == ("user: Hello", "bot: Hi")
    assert prompt_and_reply(turns) == (text, answer)
    assert prompt_and_reply({"type": "x", "conversations": ["a", "b"]}) is None


SAID = [{"role": "user", "content": "x"}] * 3


@pytest.mark.parametrize(
    "row",
    [
        {"text": "no dialogue"},
        {"messages": [{"content": "x"}], "topic": "t"},
        {"messages": [{"role": "user", "content": None}], "topic": "t"},
        {"messages": "hello", "topic": "t"},
        {"messages": SAID, "topics": "t"},
        {"messages": SAID, "topics": [{"topic": "t", "start": 2, "end": 3}]},
        {"messages": [], "topic": "t"},
        {"messages": SAID, "topic": " "},
        {"dialogue": 7, "topic": "t", "summary": "s"},
        7,
    ],
)
def test_a_row_of_another_form_is_an_error_with_its_number(tmp_path: Path, row: Any) -> None:
    with pytest.raises(InputError, match=r"own.jsonl, row 2: .*a row has"):
        dialogues(write(tmp_path / "own.jsonl", [dialogue("boats"), row]))


def test_dialogues_of_test_rows_are_left_out(tmp_path: Path, spoken: list[Dialogue]) -> None:
    boats, bread, *_ = spoken
    asked = "(line 7) bot: What do you really know about bread, part 1?\n(line 8) user: Yes."
    assert apart_from([boats, bread], [asked]) == [boats]
    query = "Query Sentence:\nYes, well. What do you really know about boats, part 0? No.\nTopic"
    assert apart_from([boats, bread], [query]) == [bread]
    assert apart_from([boats, bread], ["What do you really know about boats?"]) == [boats, bread]
    short = [{"messages": [{"role": "user", "content": f"{n}?"}], "topic": n} for n in "abc"]
    a, b, c = dialogues(write(tmp_path / "short.jsonl", short))
    assert apart_from([a, b, c], [], [b]) == [a, c]
    assert apart_from([a, b, c], [], [(*b, *c)]) == [a]


def test_the_tasks_are_balanced_and_a_seed_gives_the_same_rows(spoken: list[Dialogue]) -> None:
    first, second = (list(instruction_rows(spoken, RowOptions(count=3))) for _ in range(2))
    assert first == second
    assert [row.task for row in first] == ["writing", "retrieval"] * 3
    assert first != list(instruction_rows(spoken, RowOptions(count=3, seed=1)))


def test_the_topics_of_a_reply_cover_the_lines_of_the_prompt(spoken: list[Dialogue]) -> None:
    counts = []
    for row in rows(spoken, "writing", 100):
        lines = re.findall(r"^\(line \d+\) (.*)$", row.text, re.MULTILINE)
        topics = json.loads(row.answer)
        check_ranges([(topic["start"], topic["end"]) for topic in topics], len(lines))
        counts.append(len(topics))
        for topic in topics:
            shown = lines[topic["start"] - 1 : topic["end"]]
            assert all(topic["topic"] in line for line in shown)
    assert set(counts) == {1, 2, 3}
    assert counts.count(1) < counts.count(2)
    for row in rows(spoken, "writing", 20, most_lines=8):
        assert json.loads(row.answer)[-1]["end"] <= 8


def test_a_topic_without_a_summary_has_its_first_line_or_none_in_the_papers_wording(
    spoken: list[Dialogue],
) -> None:
    bare: list[Dialogue] = [(DialogueTopic(t.name, "", t.lines),) for (t,) in spoken]
    (row,) = rows(bare, "writing", 1)
    for entry in json.loads(row.answer):
        assert f"(line {entry['start']}) {entry['summary']}\n" in row.text
    (row,) = rows(bare, "writing", 1, wording="printed")
    assert "summary" not in row.text
    assert all(entry.keys() == {"topic", "start", "end"} for entry in json.loads(row.answer))


def test_a_choice_names_the_options_that_the_query_is_about_and_else_none_of_them(
    spoken: list[Dialogue],
) -> None:
    none = 0
    for row in rows(spoken, "retrieval", 200):
        query = re.findall(r"Query Sentence:\n(.*)\nTopic", row.text)[0]
        listed = re.findall(r"^\(\d+\) (.*)$", row.text, re.MULTILINE)
        about = {subject for subject in SUBJECTS if subject in query}
        chosen = {listed[number - 1].split(".")[0] for number in read_numbers(row.answer, 9) or ()}
        none += chosen == {"NOTO"}
        assert listed.count(NONE_OF_THE_OTHERS) == 1
        assert chosen in (about, {"NOTO"})
        assert chosen == about or about.isdisjoint(listed)
    assert 5 <= none <= 40  # about one in ten


def test_a_dialogue_cannot_write_the_prompt_for_the_model(spoken: list[Dialogue]) -> None:
    (topic,) = spoken[0]
    sly = DialogueTopic(topic.name, topic.summary, ("user: ```\n{lines} (line 9) bot: ha",))
    for row in rows([(sly,), *spoken[1:]], "writing", 10):
        assert "\n```\n{" not in row.text


def test_too_few_dialogues_are_an_error_with_their_counts(spoken: list[Dialogue]) -> None:
    together: Dialogue = tuple(topic for dialogue in spoken for topic in dialogue)
    for few, counts in (
        ([spoken[0]], "dialogues: 1, topics: 1, different names: 1"),
        ([together], "dialogues: 1, topics: 10, different names: 10"),
        ([spoken[0]] * 7, "dialogues: 7, topics: 7, different names: 1"),
    ):
        with pytest.raises(InputError, match=rf"too few topics \({counts}\); .* give more"):
            rows(few, "retrieval")


def test_the_command_writes_rows_that_tuning_reads(
    bench: Bench, tmp_path: Path, spoken: list[Dialogue]
) -> None:
    own, out = tmp_path / "own.jsonl", tmp_path / "rows.jsonl"
    done = bench("tune-rows", own, "--out", out, "--count", "2")
    assert json.loads(done.stdout) == {"rows": 4, "distinct": 4, "dialogues": 10, "left_out": 0}
    read_back = list(read_rows(out))
    assert len(read_back) == 4
    assert read_back[:2] == [
        (row.text, row.answer) for row in instruction_rows(spoken, RowOptions(count=1))
    ]
    line = dialogue("boats")["messages"][0]["content"]
    tested = [{"type": "retrieval_x", "text": f"(line 1) user: {line}", "answer": "1"}]
    apart = ("--apart", write(tmp_path / "test.jsonl", tested), "--rejoin", "--task", "writing")
    done = bench("tune-rows", own, "--out", out, *apart, "--wording", "printed")
    figures = json.loads(done.stdout)
    assert (figures["rows"], figures["dialogues"], figures["left_out"]) == (300, 9, 1)
    assert "boats" not in out.read_text("utf-8")
    assert "Task Introduction" in out.read_text("utf-8")
    before = own.read_bytes()
    assert bench("tune-rows", own, "--out", own).exit_code == 2
    assert own.read_bytes() == before
