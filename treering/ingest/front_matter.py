"""Front matter, the fields in YAML or TOML at the head of a text file, and the date of a text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from treering.errors import InputError
from treering.ingest.drafts import Envelope, clean_values
from treering.ingest.secrets import PRIVATE
from treering.journal.fields import parse_time
from treering.records import JSON
from treering.split.stream import read_text

HEAD_CHARS: Final = 4096
"""Front matter is at the head of a file, and short."""

_FRONT_MATTER = re.compile(r"(?P<fence>---|\+\+\+)[ \t]*\n(?P<fields>.*?)\n(?P=fence)", re.DOTALL)
_DATE_FIELDS: Final = ("date", "created", "created_at", "updated", "modified")
_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)(?!\d)")
_ZONE = re.compile(r"\s+(?=[+-]\d\d:?\d\d$)")
_NO_FIELDS: Final[Mapping[str, JSON]] = {}
_BLANK: Final[tuple[JSON, ...]] = ("", None, [])


def read_front_matter(path: Path, envelope: Envelope) -> tuple[Mapping[str, JSON], str | None]:
    """Return the fields of a file, and the reason if they cannot be read.

    Their secrets are in its text, too, and are counted there.
    """
    with closing(read_text(path, envelope.encoding)) as blocks:
        head = next(blocks, "")[:HEAD_CHARS]
    if envelope.cleaner is not None:  # at once: a private passage may hold many fields
        head = PRIVATE.sub("", head)
    match = _FRONT_MATTER.match(head.lstrip("\ufeff").replace("\r\n", "\n"))
    if match is None:
        return _NO_FIELDS, None
    import tomllib  # here, as is yaml: few texts have fields

    language, parse = ("TOML", tomllib.loads) if match["fence"] == "+++" else ("YAML", _parse_yaml)
    try:
        fields = json.loads(json.dumps(parse(match["fields"]), default=str, allow_nan=False))
    except (ValueError, RecursionError) as error:
        return _NO_FIELDS, f"not valid {language} ({error}); kept as text"
    if not isinstance(fields, dict):  # the text between two lines
        return _NO_FIELDS, None
    for name, value in fields.items():
        if isinstance(value, list):
            fields[name] = [item for item in value if item not in _BLANK]
    filled = {name: value for name, value in fields.items() if name and value not in _BLANK}
    # With the names, some of which tell a password.
    return clean_values(filled, envelope.without_counts().clean), None


def _parse_yaml(text: str) -> Any:
    """Parse YAML whose scalars are all texts. Raise ValueError, which quotes nothing of it."""
    import yaml

    try:
        events = yaml.parse(text, Loader=yaml.BaseLoader)
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise ValueError("aliases are not read: they may stand for endless text")
        return yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"line {mark.line + 2}" if mark else "a character") from None


def date_text(path: Path, envelope: Envelope, fields: Mapping[str, JSON] = _NO_FIELDS) -> Envelope:
    """Date a text by its front matter, its name or its modification time."""
    if envelope.at is not None or envelope.kind not in (None, "text"):
        return envelope
    folded = {name.lower(): value for name, value in fields.items()}
    texts = (value for name in _DATE_FIELDS if isinstance(value := folded.get(name), str))
    dated = next((date for date in map(_time, texts) if date is not None), None)
    return replace(envelope, at=dated or date_in_name(path) or _modification_time(path))


def date_in_name(path: Path) -> datetime | None:
    """The date in a file's name, such as ``2026-05-03 standup.md``."""
    match = _IN_NAME.search(path.stem)
    return None if match is None else _time(f"{match[1]}-{match[3]}-{match[4]}")


def _modification_time(path: Path) -> datetime | None:
    try:  # whole seconds: some file systems keep only these, and a copy would seem changed
        return datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
    except (ValueError, OverflowError):
        return None


def _time(text: str) -> datetime | None:
    """The time that a text gives in ISO 8601; None for any other."""
    try:
        return parse_time(_ZONE.sub("", text.strip()), "date")
    except InputError:
        return None
