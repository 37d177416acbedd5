"""Instruction rows: JSON lines with the prompt as ``text`` and the reply as ``answer``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from treering import files
from treering.errors import InputError
from treering.tune.train import PromptAndReply

FORM = 'a row is {"text": PROMPT, "answer": REPLY}'


def read_rows(path: Path) -> Iterator[PromptAndReply]:
    """Yield the prompt and the reply of each row; other fields are ignored.

    Raise InputError for a row of another form, and for a file without rows.
    """
    try:
        lines = files.read_bytes(path).decode("utf-8").split("\n")
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r} ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is not UTF-8: {error}") from error
    if not any(map(str.strip, lines)):
        raise InputError(f"{path} has no rows; {FORM}")
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _prompt_and_reply(line, f"{path}, line {number}")


def _prompt_and_reply(line: str, place: str) -> PromptAndReply:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON ({error}); {FORM}") from error
    pair = (row.get("text"), row.get("answer")) if isinstance(row, dict) else (None, None)
    if not isinstance(pair[0], str) or not isinstance(pair[1], str):
        raise InputError(f"{place}: no text with its answer; {FORM}")
    return pair[0], pair[1]
