"""Lines of a dialogue as a prompt shows them. A speaker's text cannot break out of its line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from treering.records import Entry

_SPOKEN_AS: Final = {"assistant": "bot"}
"""MemoChat's name for the other side; a speaker with a name keeps it."""

_MARK: Final = re.compile(r"`{3,}|#{2,}|\((?=\s*(?:line\s*)?\d+\s*\))", re.IGNORECASE)
"""The marks of the prompts: fences, joints between lines, numbers of lines and options."""


def spoken(entry: Entry) -> str:
    """A line as "speaker: text", on one line, as it goes into a prompt."""
    speaker = entry.speaker or entry.role or "user"
    return f"{shown(_SPOKEN_AS.get(speaker, speaker))}: {shown(entry.text)}"


def shown(text: str) -> str:
    """A text on one line, with anything that looks like a prompt's own mark spaced out."""
    return _MARK.sub(lambda mark: " ".join(mark[0]) + " ", " ".join(text.split()))


def numbered(lines: Sequence[str], room: int) -> str:
    """Lines with their numbers from 1 (MemoChat, table 6), each cut to ``room`` characters."""
    return "\n".join(f"(line {n}) {line[:room]}" for n, line in enumerate(lines, 1))
