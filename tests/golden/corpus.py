"""The corpus and the questions, read from their text files.

A line that begins with ``@`` sets the fields of the lines below it. In a corpus each line is an
entry, and an indented line goes on with the entry above it; entries of code end with ``---``. Of
a chat a line begins with its speaker, and each turn is a minute after the one before.

All dates lie in 2019 and 2020, so that "last week" means the same in any year from now on: no entry
is that new, and the search counts from the newest entry.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
FILES = ("assistant", "essays", "friends", "library")
SPACES = {
    "assistant": ("assistant",),
    "essays": ("essays",),
    "friends": ("friends",),
    "library": ("library",),
    "rounds": ("assistant",),  # searched by whole rounds
    "all": ("assistant", "friends", "library"),
}
ADDED = "2020-06-01T00:00:00+00:00"
FILTERS = ("source", "speaker", "session", "kind", "since", "until", "as_of")
METADATA = ("topic", "lang")


@dataclass(frozen=True)
class Question:
    """A question to a space, and the options with which it is searched."""

    space: str
    text: str
    options: dict[str, Any]

    def __str__(self) -> str:
        options = " ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.space}: {self.text}" + (f" ({options})" if options else "")


def export(space: str) -> Iterator[str]:
    """The lines of an export with the entries of a space."""
    yield json.dumps({"format": "treering", "version": 1})
    for file in SPACES[space]:
        for number, fields in enumerate(_entries(file)):
            yield json.dumps({"id": _entry_id(file, number), "added": ADDED} | fields)


def label(entry_id: str) -> str:
    """An entry by its file and its number there, such as ``friends/12``."""
    return f"{FILES[int(entry_id[:8], 16)]}/{int(entry_id[8:], 16)}"


def questions() -> list[Question]:
    """All questions, in the order of their file."""
    return [
        Question(fields["space"], line, _options(fields))
        for fields, lines in _blocks(FOLDER / "questions.txt")
        for line in lines
    ]


def _entry_id(file: str, number: int) -> str:
    return f"{FILES.index(file):08x}{number:08x}"


def _entries(file: str) -> Iterator[dict[str, Any]]:
    counts: dict[str, int] = {}
    for fields, lines in _blocks(FOLDER / "corpus" / f"{file}.txt"):
        for turn, text in enumerate(_texts(lines, fields.get("kind", "chat"))):
            position = counts[fields["source"]] = counts.get(fields["source"], -1) + 1
            yield _entry(fields, turn, text) | {"position": position}


def _entry(fields: dict[str, str], turn: int, text: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": "chat"} | {
        key: value for key, value in fields.items() if key not in METADATA
    }
    metadata = {key: fields[key] for key in METADATA if key in fields}
    if metadata:
        entry["metadata"] = metadata
    if entry["kind"] != "chat":
        return entry | {"text": text}
    speaker, _, said = text.partition(": ")
    at = datetime.fromisoformat(fields["at"]) + timedelta(minutes=turn)
    role = {"role": speaker} if speaker in ("user", "assistant") else {}
    return entry | role | {"speaker": speaker, "text": said, "at": at.isoformat()}


def _texts(lines: list[str], kind: str) -> list[str]:
    """The texts of the entries of a block."""
    if kind == "code":
        return "\n".join(lines).split("\n---\n")
    texts: list[str] = []
    for line in lines:
        if line and not line.startswith("  "):
            texts.append(line)
        else:
            texts[-1] += "\n" + line.removeprefix("  ")
    return texts


def _blocks(path: Path) -> Iterator[tuple[dict[str, str], list[str]]]:
    """The fields and the lines of each block of a file."""
    fields: dict[str, str] = {}
    lines = path.read_text("utf-8").rstrip().split("\n")
    for is_header, block in groupby(lines, key=lambda line: line.startswith("@ ")):
        if is_header:
            *_, header = block
            fields = dict(part.split("=", 1) for part in shlex.split(header[2:]))
        else:
            yield fields, list(block)


def _options(fields: dict[str, str]) -> dict[str, Any]:
    """The keyword arguments of a search."""
    options: dict[str, Any] = {
        key: fields[key] for key in ("mode", "level", *FILTERS) if key in fields
    }
    if "relations" in fields:
        options["relations"] = [name for name in fields["relations"].split(",") if name]
    metadata = {key: fields[key] for key in METADATA if key in fields}
    return options | ({"metadata": metadata} if metadata else {})
