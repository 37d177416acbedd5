"""When a file was written: by its front matter, else by its name, else by its modification time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from treering import files
from treering.errors import InputError
from treering.journal.fields import parse_time

HEAD_BYTES: Final = 4096
"""Front matter stands at the head of a file, and is short."""

_FRONT_MATTER = re.compile(r"(?P<fence>---|\+\+\+)[ \t]*\n(?P<fields>.*?)\n(?P=fence)", re.DOTALL)
_DATE_FIELDS: Final = ("date", "created", "created_at", "updated", "modified")
_FIELD = re.compile(r"^(?P<name>\w+)\s*[:=]\s*(?P<value>.+?)\s*$", re.MULTILINE)
_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)(?!\d)")
_ZONE = re.compile(r"\s+(?=[+-]\d\d:?\d\d$)")


def written_at(path: files.AnyFile) -> datetime | None:
    """The time of a file's content, aware and in UTC. Raises OSError, InputError."""
    with files.open_file(path) as stream:
        head = stream.read(HEAD_BYTES).decode("utf-8", errors="replace")
    return _in_front_matter(head) or _in_name(path.stem) or _modified(path)


def _in_front_matter(head: str) -> datetime | None:
    match = _FRONT_MATTER.match(head.lstrip("\ufeff").replace("\r\n", "\n"))
    if match is None:
        return None
    fields = {field["name"].lower(): field["value"] for field in _FIELD.finditer(match["fields"])}
    dates = (_time(fields[name]) for name in _DATE_FIELDS if name in fields)
    return next((date for date in dates if date is not None), None)


def _in_name(stem: str) -> datetime | None:
    match = _IN_NAME.search(stem)
    return None if match is None else _time(f"{match[1]}-{match[3]}-{match[4]}")


def _modified(path: files.AnyFile) -> datetime | None:
    try:  # whole seconds: some file systems keep no more, and a copy would seem to be changed
        return datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
    except (ValueError, OverflowError):
        return None


def _time(text: str) -> datetime | None:
    """The time that a text gives in ISO 8601, with or without quotes; None for any other."""
    try:
        return parse_time(_ZONE.sub("", text.strip("\"' ")), "date")
    except InputError:
        return None
