"""Dialogues whose topics are known, read from a user's own files or from public data.

Each row of a file, JSON lines or one JSON list, has one of four forms:

* ``{"messages": […], "topic": …, "summary": …}``: a conversation on one topic. A message has
  ``content`` and ``role`` or ``name``.
* ``{"messages": […], "topics": [{"topic": …, "summary": …, "start": 1, "end": 4}, …]}``: one on
  several, with the lines of each, counted from 1, end to end. The summaries may be left out.
* ``{"dialogue": "#Person1#: …", "topic": …, "summary": …}``: DialogSum.
* ``{"type": "writing_…", "text": …, "answer": …}``: MemoChat's rows for writing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from treering import files
from treering.errors import InputError, TextEncodingError
from treering.text import check_text
from treering.views.memos.record import shown
from treering.views.memos.write import Part, check

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
    """Lines on one topic, each as "speaker: text"; the summary is empty where there is none."""

    name: str
    summary: str
    lines: tuple[str, ...]


Dialogue = tuple[DialogueTopic, ...]
"""The topics of a conversation in their order, end to end."""


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines, or of one JSON list. Raises InputError."""
    try:
        text = files.read_bytes(path).decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r} ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is no text in UTF-8: {error}") from error
    is_list = text.lstrip().startswith("[")
    for number, part in enumerate([text] if is_list else text.split("\n"), 1):
        if not part.strip():
            continue
        try:
            rows = json.loads(part) if is_list else [json.loads(part)]
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: not JSON: {error}") from error
        for row in rows:
            if not isinstance(row, dict):
                raise InputError(f"{path}, line {number}: {_short(row)} is not an object; {_FORMS}")
            yield row


def dialogues(path: Path, *, required: bool = True) -> list[Dialogue]:
    """The dialogues of a file, without MemoChat's rows for other tasks than writing.

    Raises InputError for a row of another form, and if they are ``required`` and there are none.
    """
    read: list[Dialogue] = []
    for number, row in enumerate(rows_of(path), 1):
        kind = row.get("type")
        if isinstance(kind, str) and not kind.startswith("writing") and "messages" not in row:
            continue
        try:
            read.append(_dialogue(row))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            advice = "" if isinstance(error, TextEncodingError) else f"; {_FORMS}"
            raise InputError(f"{path}, row {number}: {reason}{advice}") from error
    if required and not read:
        raise InputError(f"{path} holds no dialogue with its topics; {_FORMS}")
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
        shown(_plain(text)).casefold() for text in (*texts_of_others, *lines_of_others)
    )
    wholes = {_said(dialogue) for dialogue in [*others, *separated(others)]}
    return [
        dialogue
        for dialogue in own
        if _said(dialogue) not in wholes
        and not any(len(line) >= LONG_LINE and line in texts for line in _said(dialogue))
    ]


def is_instruction(row: Mapping[str, Any]) -> bool:
    """Whether a row is a prompt with its reply, in either of MemoChat's two published forms."""
    return isinstance(row.get("type"), str) and all(isinstance(t, str) for t in _pair(row))


def prompt_and_reply(row: Mapping[str, Any]) -> tuple[str, str]:
    """The prompt of such a row, and the reply that it expects."""
    prompt, reply = _pair(row)
    return str(prompt), str(reply)


def _pair(row: Mapping[str, Any]) -> tuple[object, object]:
    turns = row.get("conversations")
    if not isinstance(turns, list):
        return row.get("text"), row.get("answer")
    values = [turn.get("value") if isinstance(turn, dict) else None for turn in turns]
    return (values[0], values[1]) if len(values) == 2 else (None, None)


def _dialogue(row: Mapping[str, Any]) -> Dialogue:
    if "messages" in row:
        lines = [_line(message, n) for n, message in enumerate(_objects(row, "messages"), 1)]
        if "topics" in row:
            return _cut(lines, _objects(row, "topics"))
        return (_topic(row["topic"], row.get("summary"), lines),)
    if "dialogue" in row:
        lines = [_plain(line) for line in row["dialogue"].split("\n") if line.strip()]
        return (_topic(row["topic"], _plain(row["summary"]), lines),)
    if not is_instruction(row):
        raise ValueError(f"the fields are {', '.join(map(repr, row)) or 'none'}")
    text, answer = prompt_and_reply(row)
    return _cut(_ROW_LINE.findall(text), json.loads(answer))


def _cut(lines: Sequence[str], topics: Sequence[Mapping[str, Any]]) -> Dialogue:
    """Lines cut at the borders that are known. Raises ValueError if these are not end to end."""
    for topic in topics:
        for border in ("start", "end"):
            if type(topic[border]) is not int:
                raise ValueError(f"the {border} of a topic is {_short(topic[border])}; give a line")
    parts = [Part(str(t["topic"]), str(t["topic"]), t["start"], t["end"]) for t in topics]
    check(parts, len(lines))
    return tuple(
        _topic(part.topic, topic.get("summary"), lines[part.start - 1 : part.end])
        for part, topic in zip(parts, topics, strict=True)
    )


def _topic(name: object, summary: object, lines: Sequence[str]) -> DialogueTopic:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"the topic is {name!r}; give a text")
    if not lines:
        raise ValueError(f"topic {name!r} has no lines")
    for text in (name, str(summary or ""), *lines):
        check_text(text, "a text")
    return DialogueTopic(shown(name), shown(str(summary or "")), tuple(map(shown, lines)))


def _objects(row: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    values = row[name]
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise ValueError(f"{name} is {_short(values)}; give a list of objects")
    return values


def _line(message: Mapping[str, Any], number: int) -> str:
    speaker = str(message.get("name") or message.get("role") or "")
    if not speaker or not isinstance(message["content"], str):
        raise ValueError(f"message {number} needs a role or a name, and a text as its content")
    return f"{'bot' if speaker == 'assistant' else speaker}: {message['content']}"


def _plain(text: str) -> str:
    for person, name in _PERSONS.items():
        text = text.replace(person, name)
    return text


def _said(dialogue: Dialogue) -> tuple[str, ...]:
    """The lines without their speakers, whose names differ by file."""
    lines = (_plain(line) for topic in dialogue for line in topic.lines)
    return tuple(shown(line.partition(": ")[2] or line).casefold() for line in lines)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
