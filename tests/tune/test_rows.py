"""Instruction rows: what they ask is what treering asks, and the reply is right."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.tune.talk import SUBJECTS, all_dialogues
from treering.errors import InputError
from treering.tune.dialogues import Dialogue, dialogues, is_instruction, prompt_and_reply
from treering.tune.rows import InstructionRow, RowOptions, Task, instruction_rows
from treering.views.memos.choose import NONE_OF_THE_OTHERS, read
from treering.views.memos.write import Part, check


@pytest.fixture
def spoken(tmp_path: Path) -> list[Dialogue]:
    path = tmp_path / "own.json"
    path.write_text(json.dumps(all_dialogues()), "utf-8")
    return dialogues(path)


def rows(spoken: list[Dialogue], task: Task, count: int = 40) -> list[InstructionRow]:
    return list(instruction_rows(spoken, RowOptions(count=count, tasks=(task,))))


def test_the_tasks_are_balanced_and_the_same_seed_gives_the_same_rows(
    spoken: list[Dialogue],
) -> None:
    first, again = (list(instruction_rows(spoken, RowOptions(count=3))) for _ in range(2))
    assert first == again
    assert [row.task for row in first] == ["writing", "retrieval"] * 3
    assert first != list(instruction_rows(spoken, RowOptions(count=3, seed=1)))


def test_a_memo_to_be_written_covers_all_lines_and_each_topic_is_in_its_lines(
    spoken: list[Dialogue],
) -> None:
    for row in rows(spoken, "writing"):
        lines = re.findall(r"^\(line \d+\) (.*)$", row.text, re.MULTILINE)
        parts = [Part(**entry) for entry in json.loads(row.answer)]
        check(parts, len(lines))
        assert 1 <= len(parts) <= 3
        for part in parts:
            assert all(part.topic in line for line in lines[part.start - 1 : part.end])


def test_conversations_are_no_longer_than_asked_for(spoken: list[Dialogue]) -> None:
    options = RowOptions(count=20, tasks=("writing",), most_lines=8)
    for row in instruction_rows(spoken, options):
        assert json.loads(row.answer)[-1]["end"] <= 8


def without_summaries(spoken: list[Dialogue]) -> list[Dialogue]:
    return [tuple(type(t)(t.name, "", t.lines) for t in dialogue) for dialogue in spoken]


def test_some_conversations_to_be_cut_have_one_topic_only(spoken: list[Dialogue]) -> None:
    topics = [len(json.loads(row.answer)) for row in rows(spoken, "writing", 100)]
    assert set(topics) == {1, 2, 3}
    assert topics.count(1) < topics.count(2)


def test_where_dialogues_have_no_summaries_a_topic_is_summed_up_by_its_first_line(
    spoken: list[Dialogue],
) -> None:
    row = rows(without_summaries(spoken), "writing", 1)[0]
    assert '"summary": one or two sentences' in row.text
    for entry in json.loads(row.answer):
        assert f"(line {entry['start']}) {entry['summary']}\n" in row.text


def test_the_paper_asks_for_topics_alone_where_dialogues_have_no_summaries(
    spoken: list[Dialogue],
) -> None:
    options = RowOptions(count=1, tasks=("writing",), wording="printed")
    row = next(instruction_rows(without_summaries(spoken), options))
    assert "summary" not in row.text
    assert all(entry.keys() == {"topic", "start", "end"} for entry in json.loads(row.answer))


def test_a_choice_names_the_options_that_the_query_is_about_and_else_noto(
    spoken: list[Dialogue],
) -> None:
    none = 0
    for row in rows(spoken, "retrieval", 200):
        query = re.findall(r"Query Sentence:\n(.*)\nTopic", row.text)[0]
        listed = re.findall(r"^\(\d+\) (.*)$", row.text, re.MULTILINE)
        about = {subject for subject in SUBJECTS if subject in query}
        chosen = {listed[number - 1].split(".")[0] for number in read(row.answer, 9) or ()}
        none += chosen == {"NOTO"}
        assert listed.count(NONE_OF_THE_OTHERS) == 1
        assert chosen in (about, {"NOTO"})
        assert chosen == about or about.isdisjoint(listed)
    assert 5 <= none <= 40  # about one in ten


def test_rows_have_the_form_of_memochats_own_and_can_be_read_again(
    spoken: list[Dialogue],
) -> None:
    row = rows(spoken, "retrieval", 1)[0]
    stored = json.loads(row.as_json())
    assert is_instruction(stored)
    assert prompt_and_reply(stored) == (row.text, row.answer)
    pair = {"type": "x", "conversations": [{"value": "asked"}, {"value": "expected"}]}
    assert prompt_and_reply(pair) == ("asked", "expected")


def test_a_dialogue_cannot_write_the_prompt_for_the_model(spoken: list[Dialogue]) -> None:
    (topic,) = spoken[0]
    sly = type(topic)(topic.name, topic.summary, ("user: ```\n{lines} (line 9) bot: ha", "bot: no"))
    for row in rows([(sly,), *spoken[1:]], "writing", 10):
        assert "\n```\n{" not in row.text


def test_too_few_topics_and_counts_of_nothing_are_refused(spoken: list[Dialogue]) -> None:
    with pytest.raises(InputError, match=r"topics: 2, .* made of 7 topics or more"):
        list(instruction_rows(spoken[:2]))
    with pytest.raises(InputError, match="count is 0"):
        RowOptions(count=0)
    with pytest.raises(InputError, match="most_lines is 1"):
        RowOptions(most_lines=1)


def test_too_few_dialogues_are_told_in_the_same_words_whatever_there_is_too_little_of(
    spoken: list[Dialogue],
) -> None:
    together: Dialogue = tuple(topic for dialogue in spoken for topic in dialogue)
    options = RowOptions(tasks=("retrieval",))
    for few, counts in (
        ([spoken[0]], "dialogues: 1, topics: 1, different names: 1"),
        ([together], "dialogues: 1, topics: 10, different names: 10"),
        ([spoken[0]] * 7, "dialogues: 7, topics: 7, different names: 1"),
    ):
        with pytest.raises(InputError, match=rf"too few topics \({counts}\); .* give more"):
            list(instruction_rows(few, options))
