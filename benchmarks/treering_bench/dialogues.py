"""Dialogues whose topics are known, from which rows for tuning come.

Each row of a file, JSON lines or one JSON list, has one of four forms:

* ``{"messages": […], "topic": …, "summary": …}``: a conversation on one topic. A message has
  ``content`` and ``role`` or ``name``.
* ``{"messages": […], "topics": [{"topic": …, "summary": …, "start": 1, "end": 4}, …]}``: one on
  several, with the lines of each, counted from 1, end to end. The summaries may be left out.
* ``{"dialogue": "#Person1#: …", "topic": …, "summary": …}``: DialogSum.
* ``{"type": "writing_…", "text": …, "answer": …}``: MemoChat's rows for writing. Its training file
  has ``conversations`` instead, which are two turns with a ``value``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from treering.errors import InputError
from treering.views.memos.record import one_line
from treering_bench.read import json_items, json_lines

LONG_LINE: Final = 40
"""Characters from which on a line that two dialogues share makes them the same dialogue."""

_PERSONS: Final = {"#Person1#": "user", "#Person2#": "bot", " ' ": "'"}
"""DialogSum's persons by the names that lines of a chat have; its apostrophes closed up."""

_ROW_LINE: Final = re.compile(r"^\(line \d+\) (.*)$", re.MULTILINE)
_FORMS: Final = (
    'a row has "messages" with "topic" or "topics", a "dialogue", or is a MemoChat row for writing'
)


@dataclass(frozen=True, slots=True)
class DialogueTopic:
    """Lines on one topic, each as "speaker: text"; the summary may be empty."""

    name: str
    summary: str
    lines: tuple[str, ...]


Dialogue = tuple[DialogueTopic, ...]
"""The topics of a conversation in their order, end to end."""


def rows_in(path: Path) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of JSON lines, or of one JSON list."""
    try:
        with path.open("rb") as file:
            is_list = file.read(1) == b"["
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r} ({error.strerror})") from error
    return json_items(path) if is_list else json_lines(path)


def dialogues(path: Path, *, required: bool = True) -> list[Dialogue]:
    """The dialogues of a file, without MemoChat's rows for other tasks than writing.

    Raise InputError for a row of another form, and if dialogues are ``required`` and the file has
    none.
    """
    read: list[Dialogue] = []
    for number, row in enumerate(rows_in(path), 1):
        try:
            if "messages" in row or str(row.get("type", "writing")).startswith("writing"):
                read.append(_dialogue(row))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}"
            raise InputError(f"{path}, row {number}: {problem}; {_FORMS}") from error
    if required and not read:
        raise InputError(f"{path} has no dialogue with its topics; {_FORMS}")
    return read


def separated(dialogues: Iterable[Dialogue]) -> list[Dialogue]:
    """Each topic as a dialogue of its own, to be joined with others."""
    return [(topic,) for dialogue in dialogues for topic in dialogue]


def apart_from(
    own: Sequence[Dialogue], texts_of_others: Iterable[str], others: Sequence[Dialogue] = ()
) -> list[Dialogue]:
    """The dialogues none of whose long lines is in texts or dialogues of others.

    A dialogue with the same lines as one of the others, or as a topic of one, is left out, too: a
    row for writing joins whole dialogues as its topics.
    """
    lines_of_others = [line for dialogue in others for topic in dialogue for line in topic.lines]
    texts = "\n".join(
        one_line(_plain(text)).casefold() for text in (*texts_of_others, *lines_of_others)
    )
    wholes = {_said(dialogue) for dialogue in [*others, *separated(others)]}
    return [
        dialogue
        for dialogue in own
        if _said(dialogue) not in wholes
        and not any(len(line) >= LONG_LINE and line in texts for line in _said(dialogue))
    ]


def prompt_and_reply(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """The prompt of an instruction row and the reply that it expects; None for other rows."""
    pair = [row.get("text"), row.get("answer")]
    if isinstance(turns := row.get("conversations"), list):
        pair = [turn.get("value") if isinstance(turn, dict) else None for turn in turns]
    match pair:
        case [str(prompt), str(reply)]:
            return prompt, reply
    return None


def _dialogue(row: Mapping[str, Any]) -> Dialogue:
    if "messages" in row:
        lines = [_line(message) for message in row["messages"]]
        if "topics" in row:
            return _cut(lines, row["topics"])
        return (_topic(row["topic"], row.get("summary"), lines),)
    if "dialogue" in row:
        lines = [_plain(line) for line in row["dialogue"].split("\n") if line.strip()]
        return (_topic(row["topic"], _plain(row["summary"]), lines),)
    if pair := prompt_and_reply(row):
        return _cut(_ROW_LINE.findall(pair[0]), json.loads(pair[1]))
    raise ValueError(f"the fields are {', '.join(map(repr, row)) or 'none'}")


def _cut(lines: Sequence[str], topics: Sequence[Mapping[str, Any]]) -> Dialogue:
    """Lines cut at the borders that are known. Raise ValueError if these are not end to end."""
    check_ranges([(int(topic["start"]), int(topic["end"])) for topic in topics], len(lines))
    return tuple(
        _topic(topic["topic"], topic.get("summary"), lines[topic["start"] - 1 : topic["end"]])
        for topic in topics
    )


def _topic(name: str, summary: str | None, lines: Sequence[str]) -> DialogueTopic:
    if not name.strip() or not lines:
        raise ValueError(f"topic {name!r} needs a name and lines")
    return DialogueTopic(one_line(name), one_line(summary or ""), tuple(map(one_line, lines)))


def _line(message: Mapping[str, Any]) -> str:
    speaker = message.get("name") or message["role"]
    if not isinstance(message["content"], str):
        raise TypeError(f"content is {message['content']!r}")
    return f"{'bot' if speaker == 'assistant' else speaker}: {message['content']}"


def _plain(text: str) -> str:
    for person, name in _PERSONS.items():
        text = text.replace(person, name)
    return text


def _said(dialogue: Dialogue) -> tuple[str, ...]:
    """The lines without their speakers, whose names differ by file."""
    lines = (_plain(line) for topic in dialogue for line in topic.lines)
    return tuple(one_line(line.partition(": ")[2] or line).casefold() for line in lines)


def check_ranges(ranges: Sequence[tuple[int, int]], lines: int) -> None:
    """Raise ValueError unless ranges of lines, from 1, follow each other up to the last line."""
    due = 1
    for start, end in ranges:
        if start != due or not start <= end <= lines:
            raise ValueError(f"a topic has the lines {start} to {end}; it must start at {due}")
        due = end + 1
    if due <= lines or not ranges:
        raise ValueError(f"the last topic ends at line {due - 1}; it must end at line {lines}")
