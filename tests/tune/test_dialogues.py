"""Files of dialogues whose topics are known, in each of their forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tune.talk import dialogue
from treering.errors import InputError
from treering.tune.dialogues import DialogueTopic, apart_from, dialogues, separated


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def test_a_conversation_on_one_topic_is_read(tmp_path: Path) -> None:
    [read] = dialogues(write(tmp_path / "own.jsonl", dialogue("boats", 1)))
    lines = (
        "user: What do you really know about boats, part 0?",
        "bot: A good deal about boats, as for part 0.",
    )
    assert read == (DialogueTopic("boats", "user asks about boats.", lines),)


def test_a_conversation_on_several_topics_is_cut_at_its_borders(tmp_path: Path) -> None:
    topics = [{"topic": "a", "start": 1, "end": 1}, {"topic": "b", "start": 2, "end": 4}]
    row = {"messages": dialogue("boats")["messages"], "topics": topics}
    [(first, second)] = dialogues(write(tmp_path / "own.jsonl", row))
    assert (first.name, len(first.lines), first.summary) == ("a", 1, "")
    assert (second.name, len(second.lines)) == ("b", 3)
    assert separated([(first, second)]) == [(first,), (second,)]


def test_dialogsum_and_memochat_are_read_from_lines_and_from_a_list(tmp_path: Path) -> None:
    dialogsum = {
        "dialogue": "#Person1#: I ' m off.\n#Person2#: Bye.",
        "summary": "#Person1# leaves.",
        "topic": "leaving",
    }
    memochat = {
        "type": "writing_x",
        "text": "Task\n(line 1) user: Hello\n(line 2) bot: Hi\nTask Result:",
        "answer": '[{"topic": "greeting", "start": 1, "end": 2}]',
    }
    other = {"type": "retrieval_x", "text": "…", "answer": "1"}
    path = tmp_path / "list.json"
    path.write_text(json.dumps([dialogsum, other, memochat]), "utf-8")
    [(leaving,), (greeting,)] = dialogues(path)
    assert leaving == DialogueTopic("leaving", "user leaves.", ("user: I'm off.", "bot: Bye."))
    assert greeting.lines == ("user: Hello", "bot: Hi")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"text": "no dialogue"}, r"row 1: the fields are 'text'; a row has \"messages\""),
        (
            {"messages": [{"content": "x"}], "topic": "t"},
            "row 1: message 1 needs a role or a name",
        ),
        ({"messages": "hello", "topic": "t"}, "messages is 'hello'; give a list of objects"),
        ({"messages": ["hello"], "topic": "t"}, "give a list of objects"),
        (
            {"messages": [{"role": "user", "content": "x"}], "topics": "t"},
            "topics is 't'; give a list of objects",
        ),
        (
            {
                "messages": [{"role": "user", "content": "x"}],
                "topics": [{"topic": "t", "start": "1", "end": 1}],
            },
            "the start of a topic is '1'; give a line",
        ),
        ({"dialogue": 7, "topic": "t", "summary": "s"}, "row 1: "),
        ({"messages": [], "topic": "t"}, "row 1: topic 't' has no lines"),
        ({"messages": [{"role": "user", "content": "x"}], "topic": " "}, "the topic is ' '"),
        (
            {
                "messages": [{"role": "user", "content": "x"}] * 3,
                "topics": [{"topic": "t", "start": 2, "end": 3}],
            },
            "it must start at 1",
        ),
        (7, "line 1: 7 is not an object"),
        (
            {"messages": [{"role": "user", "content": None}], "topic": "t"},
            "message 1 needs a role or a name, and a text",
        ),
        (
            {"messages": [{"role": "user", "content": "x\ud800"}], "topic": "t"},
            "row 1: a text has a lone surrogate",
        ),
        ({"type": "writing_x", "conversations": ["a", "b"]}, "row 1: the fields are 'type'"),
        ({"type": "writing_x", "text": 1, "answer": "[]"}, "row 1: the fields are 'type'"),
    ],
)
def test_a_row_of_another_form_is_named_with_what_is_wrong(
    tmp_path: Path, row: Any, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        dialogues(write(tmp_path / "own.jsonl", row))


def test_what_is_no_json_or_no_text_or_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    with pytest.raises(InputError, match=r"cannot read .*No such file"):
        dialogues(path)
    path.write_text("{", "utf-8")
    with pytest.raises(InputError, match="line 1: not JSON"):
        dialogues(path)
    path.write_text("[" * 100_000, "utf-8")
    with pytest.raises(InputError, match="not JSON"):
        dialogues(path)
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="no text in UTF-8"):
        dialogues(path)
    path.write_text("", "utf-8")
    with pytest.raises(InputError, match="holds no dialogue"):
        dialogues(path)


def test_dialogues_that_share_a_long_line_with_test_rows_are_left_out(tmp_path: Path) -> None:
    rows = [dialogue("boats"), dialogue("bread")]
    read = dialogues(write(tmp_path / "own.jsonl", *rows))
    asked = "(line 7) bot: What do you really know about bread, part 1?\n(line 8) user: Yes."
    assert [topic.name for (topic,) in apart_from(read, [asked])] == ["boats"]
    query = "Query Sentence:\nYes, well. What do you really know about boats, part 0? No.\nTopic"
    assert [topic.name for (topic,) in apart_from(read, [query])] == ["bread"]
    assert len(apart_from(read, ["What do you really know about boats?"])) == 2


def test_equal_dialogues_are_left_out_however_short_their_lines(tmp_path: Path) -> None:
    def short(subject: str) -> dict[str, Any]:
        messages = [{"role": "user", "content": f"{subject}?"}, {"name": "bot", "content": "Yes."}]
        return {"messages": messages, "topic": subject}

    [boats, bread, chess] = dialogues(
        write(tmp_path / "own.jsonl", *map(short, ("boats", "bread", "chess")))
    )
    assert apart_from([boats, bread, chess], [], [bread]) == [boats, chess]
    assert apart_from([boats, bread, chess], [], [(*bread, *chess)]) == [boats]
