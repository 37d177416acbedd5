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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from treering import files
from treering.errors import InputError, TextEncodingError
from treering.text import check_text
from treering.views.memos.lines import shown
from treering.views.memos.write import Part, check

LONG_LINE: Final = 40
"""Characters from which on a line that two dialogues share makes them the same dialogue."""

_RUN: Final = 4  # words
_PERSONS: Final = {"#Person1#": "user", "#Person2#": "bot"}
_ROLES: Final = {"assistant": "bot"}
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
    if text.lstrip().startswith("["):
        rows = [(f"element {number}", row) for number, row in enumerate(_json(text, path, ""), 1)]
    else:
        lines = ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())
        rows = [(f"line {number}", _json(line, path, f", line {number}")) for number, line in lines]
    for place, row in rows:
        if not isinstance(row, dict):
            raise InputError(f"{path}, {place}: {_short(row)} is not an object; {_FORMS}")
        yield row


def dialogues(path: Path, *, required: bool = True) -> list[Dialogue]:
    """The dialogues of a file; rows of MemoChat for other tasks than writing are left out.

    Raises InputError for a row of another form, and if they are ``required`` and there are none.
    """
    read: list[Dialogue] = []
    for number, row in enumerate(rows_of(path), 1):
        if _is_other_task(row):
            continue
        try:
            read.append(_dialogue(row))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            advice = "" if isinstance(error, TextEncodingError) else f"; {_FORMS}"
            raise InputError(f"{path}, row {number}: {what}{advice}") from error
    if required and not read:
        raise InputError(f"{path} holds no dialogue with its topics; {_FORMS}")
    return read


def separated(dialogues: Iterable[Dialogue]) -> list[Dialogue]:
    """Each topic as a dialogue of its own, to be joined with others."""
    return [(topic,) for dialogue in dialogues for topic in dialogue]


def apart_from(
    own: Sequence[Dialogue], texts_of_others: Iterable[str], others: Sequence[Dialogue] = ()
) -> list[Dialogue]:
    """The dialogues none of whose long lines stands in texts or dialogues of others.

    It may stand anywhere in them: a query of MemoChat's rows is lines without their speakers.
    A dialogue that says the same as one of the others, or as a topic of one, is left out, too,
    whatever the length of its lines: a row for writing joins whole dialogues as its topics.
    """
    lines_of_others = (line for dialogue in others for topic in dialogue for line in topic.lines)
    all_texts = chain(texts_of_others, lines_of_others)
    texts = "\n".join(shown(_unspaced(text)).casefold() for text in all_texts)
    begins = set(_runs(texts.split()))

    def stands_there(line: str) -> bool:
        begin = next(_runs(line.split()), None)  # looked up first, as texts may be megabytes
        return (begin is None or begin in begins) and line in texts

    wholes = {_words_of(dialogue) for dialogue in [*others, *separated(others)]}
    return [
        dialogue
        for dialogue in own
        if _words_of(dialogue) not in wholes and not any(map(stands_there, _spoken(dialogue)))
    ]


def _runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each few successive words."""
    return zip(*(words[first:] for first in range(_RUN)), strict=False)


def is_instruction(row: Mapping[str, Any]) -> bool:
    """Whether a row is a prompt with its reply, in either of MemoChat's two published forms."""
    return isinstance(row.get("type"), str) and all(isinstance(t, str) for t in _pair(row))


def _pair(row: Mapping[str, Any]) -> tuple[object, object]:
    """What may be a prompt and its reply; None where there is none."""
    turns = row.get("conversations")
    if not isinstance(turns, list):
        return row.get("text"), row.get("answer")
    values = [turn.get("value") if isinstance(turn, dict) else None for turn in turns]
    return (values[0], values[1]) if len(values) == 2 else (None, None)


def prompt_and_reply(row: Mapping[str, Any]) -> tuple[str, str]:
    """What such a row asks and what it expects."""
    asked, expected = _pair(row)
    return str(asked), str(expected)


def _dialogue(row: Mapping[str, Any]) -> Dialogue:
    for name, reader in _READERS.items():
        if name in row:
            return reader(row)
    raise ValueError(f"the fields are {', '.join(map(repr, row)) or 'none'}")


def _from_messages(row: Mapping[str, Any]) -> Dialogue:
    messages = _objects(row["messages"], "messages", "content, and role or name")
    lines = [_line(message, number) for number, message in enumerate(messages, 1)]
    if "topics" not in row:
        return (_topic(row["topic"], row.get("summary"), lines),)
    return _cut(lines, row["topics"])


def _from_dialogsum(row: Mapping[str, Any]) -> Dialogue:
    if not isinstance(row["dialogue"], str):
        raise ValueError(f"the dialogue is {_short(row['dialogue'])}; give a text")
    lines = [_unspaced(line) for line in row["dialogue"].split("\n") if line.strip()]
    return (_topic(row["topic"], _unspaced(row["summary"]), lines),)


def _from_memochat(row: Mapping[str, Any]) -> Dialogue:
    if not is_instruction(row):
        raise ValueError("a MemoChat row has a text and its answer, or two conversations")
    text, answer = prompt_and_reply(row)
    return _cut(_ROW_LINE.findall(text), json.loads(answer))


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Dialogue]]] = {
    "messages": _from_messages,
    "dialogue": _from_dialogsum,
    "type": _from_memochat,
}


def _cut(lines: Sequence[str], topics: object) -> Dialogue:
    """Lines cut at the borders that are known. Raises ValueError if these are not end to end."""
    parts = [
        Part(
            str(topic["topic"]),
            str(topic.get("summary") or ""),
            _line_number(topic, "start"),
            _line_number(topic, "end"),
        )
        for topic in _objects(topics, "topics", "topic, start and end")
    ]
    check([replace(part, summary=part.summary or part.topic) for part in parts], len(lines))
    return tuple(_topic(p.topic, p.summary, lines[p.start - 1 : p.end]) for p in parts)


def _topic(name: object, summary: object, lines: Sequence[str]) -> DialogueTopic:
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"the topic is {name!r}; give a text")
    if not lines:
        raise ValueError(f"topic {name!r} has no lines")
    for text in (name, str(summary or ""), *lines):
        check_text(text, "a text")
    return DialogueTopic(shown(name), shown(str(summary or "")), tuple(map(shown, lines)))


def _objects(value: object, what: str, fields: str) -> list[Mapping[str, Any]]:
    """The objects of a list. Raises ValueError for anything else."""
    if not isinstance(value, list):
        raise ValueError(f"{what} is {_short(value)}; give a list of objects with {fields}")
    for number, item in enumerate(value, 1):
        if not isinstance(item, dict):
            raise ValueError(
                f"number {number} of the {what} is {_short(item)}; give an object with {fields}"
            )
    return value


def _line_number(topic: Mapping[str, Any], border: str) -> int:
    number = topic[border]
    if not isinstance(number, int) or isinstance(number, bool):
        raise ValueError(
            f"the {border} of topic {_short(topic['topic'])} is {_short(number)}; "
            "give the number of a line, counted from 1 and without quotes"
        )
    return number


def _line(message: Mapping[str, Any], number: int) -> str:
    speaker = str(message.get("name") or message.get("role") or "")
    if not speaker:
        raise ValueError(f"message {number} has neither a role nor a name; give one of them")
    if not isinstance(message["content"], str):
        raise ValueError(
            f"the content of message {number} is {_short(message['content'])}; give a text"
        )
    return f"{_ROLES.get(speaker, speaker)}: {message['content']}"


def _unspaced(text: str) -> str:
    """DialogSum's persons by the names that lines of a chat have, its apostrophes closed up."""
    for person, name in _PERSONS.items():
        text = text.replace(person, name)
    return text.replace(" ' ", "'")


def _is_other_task(row: Mapping[str, Any]) -> bool:
    kind = row.get("type")
    return isinstance(kind, str) and not kind.startswith("writing") and "messages" not in row


def _spoken(dialogue: Dialogue) -> set[str]:
    """The long lines of a dialogue."""
    return {line for line in _words_of(dialogue) if len(line) >= LONG_LINE}


def _words_of(dialogue: Dialogue) -> tuple[str, ...]:
    """What is said, line by line, without who said it: names and numbers differ by file."""
    lines = (_unspaced(line) for topic in dialogue for line in topic.lines)
    return tuple(shown(line.partition(": ")[2] or line).casefold() for line in lines)


def _json(text: str, path: Path, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}{where}: not JSON: {error}") from error


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
