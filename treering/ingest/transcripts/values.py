"""Transcripts in JSON: reading them within limits, their fields, and the text of their parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from treering import files
from treering.errors import InputError
from treering.ingest.transcripts.archive import TranscriptPath, file_size
from treering.ingest.transcripts.contract import Omission
from treering.journal.fields import parse_time

Fields = Mapping[str, Any]
"""A parsed object of JSON."""

MAX_BYTES = 2 << 30
"""A document is held in memory as a whole, several times its size."""

MAX_VALUES = 50_000_000
"""Of a document. An empty list has three bytes in the file and 64 in memory."""

SHORT_CHARS = 200
"""Of a tool's call or failure: the action and its end, without its output."""


def refuse_larger(path: TranscriptPath) -> None:
    """Raise InputError for a file that is too large for memory."""
    size = file_size(path)
    if size > MAX_BYTES:
        raise InputError(f"{path} has {size:,} bytes; at most {MAX_BYTES:,} can be read at once")


def read_json(path: TranscriptPath) -> Any:
    """The value of a file of JSON. Raises InputError."""
    refuse_larger(path)
    content = files.read_bytes(path)
    # Each value but the first follows one of these; those within texts are counted too.
    values = sum(map(content.count, (b",", b"[", b"{")))
    if values > MAX_VALUES:
        raise InputError(
            f"{path} holds up to {values:,} values; at most {MAX_VALUES:,} can be read at once: "
            "export a shorter time, or in parts"
        )
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); is the export whole?") from error


def parse_object(line: bytes | str) -> Fields | None:
    """The object on a line; None if it holds none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text_of(value: object) -> str:
    """A field that should be a text; the empty text if it is something else."""
    return value if isinstance(value, str) else ""


def name_of(value: object) -> str | None:
    """A field that should be a name; None if it is something else or empty."""
    return value if isinstance(value, str) and value.strip() else None


def time_of(value: object) -> datetime | None:
    """A field that should be a time; None if it is something else."""
    with suppress(InputError):
        return parse_time(value, "time")
    return None


def unix_time(value: object) -> datetime | None:
    """A field that should be seconds since 1970, as a text; None if it is something else."""
    with suppress(ValueError):
        return time_of(float(text_of(value)))
    return None


def objects(value: object) -> list[Fields]:
    """The objects of a list; empty if it is not a list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def below(value: object, *keys: str) -> Any:
    """The value at a path of keys; None if a step is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def join_lines(*parts: str | None) -> str:
    """The parts that have a text, a line each."""
    return "\n".join(filter(None, parts))


def file_lines(*lists: object, key: str = "name") -> list[str]:
    """A line for each named file of some lists of files."""
    names = (name_of(file.get(key)) for files in lists for file in objects(files))
    return [f"[file: {name}]" for name in names if name]


def error_line(output: str) -> str:
    """A tool's failure on one short line."""
    return f"[error] {_shorten(output)}"


def call_line(name: object, arguments: object) -> str:
    """A tool's call on one short line: its name and the texts among its arguments."""
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments)
    if isinstance(arguments, Mapping):
        shown = " ".join(f"{key}={value}" for key, value in arguments.items())
    else:
        shown = "" if arguments is None else str(arguments)
    return _shorten(f"[{name_of(name) or 'tool'} {shown}".rstrip()) + "]"


def block_part(block: Fields) -> str | Omission:
    """The text of a block as Claude writes it, or the omission."""
    match block.get("type"):
        case "text":
            return text_of(block.get("text"))
        case "tool_use" | "server_tool_use":
            return call_line(block.get("name"), block.get("input"))
        case "tool_result" if block.get("is_error"):
            content = block.get("content")
            lines = (text_of(part.get("text")) for part in objects(content))
            return error_line(text_of(content) or " ".join(lines))
        case "tool_result":
            return Omission("results of tools")
        case "thinking" | "redacted_thinking":
            return Omission("thoughts of the model")
        case "image" | "document" as kind:
            return f"[{kind}]"
        case other:
            return Omission(f"blocks of unknown type {other!r:.60}")


def text_and_omissions(parts: Iterable[str | Omission]) -> tuple[str, list[Omission]]:
    """The text of a message's parts, and the omissions."""
    taken = [*parts]
    text = join_lines(*(part for part in taken if isinstance(part, str)))
    return text, [part for part in taken if isinstance(part, Omission)]


def _shorten(text: str, limit: int = SHORT_CHARS) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
