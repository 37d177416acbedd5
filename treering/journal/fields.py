"""The values of an entry's fields, checked before anything is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from unicodedata import category

from treering.errors import InputError, TextEncodingError
from treering.records import JSON
from treering.text import check_text, composed

MAX_NAME_CHARS = 1_000  # of a source, speaker or session: a name, not a text
_NUMBERS = (int, float)
_YEAR_OR_MONTH = re.compile(r"\d{4}(-\d{2})?")
_canonical = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
).encode
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
UNNAMEABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Invisible marks of names in chat exports are allowed: joiners, directions, hard spaces."""


def parse_time(value: object, what: str) -> datetime:
    """Return an aware time from ISO 8601, a date, a datetime or seconds since the epoch.

    The time keeps its offset from UTC, in whole minutes; without one it is UTC. A year, a month or
    a date means its beginning. Raises InputError.
    """
    try:
        if isinstance(value, datetime):
            moment = value
        elif isinstance(value, date):
            moment = datetime(value.year, value.month, value.day)
        elif isinstance(value, str):
            text = value.strip()
            part = _YEAR_OR_MONTH.fullmatch(text)
            whole = f"{text}-01" if part and part[1] else f"{text}-01-01" if part else text
            moment = datetime.fromisoformat(whole)
        elif isinstance(value, _NUMBERS) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(value, UTC)
        else:
            raise TypeError(f"a {type(value).__name__}")
        moment = moment.astimezone(_zone(moment)) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError, OSError) as error:
        reason = "" if "isoformat" in str(error) else f" ({error})"  # which only repeats the value
        raise InputError(
            f"{what}: time {value!r}{reason} cannot be read; give a date such as 2026-05-03, a "
            "year or a month, or ISO 8601 such as 2026-05-03T10:00:00Z",
            param=what,
        ) from error
    return moment


def parse_bound(value: object, what: str) -> datetime:
    """Return a time; a date alone lacks a zone, as it means that day on the clock of each entry."""
    moment = parse_time(value, what)
    is_date = isinstance(value, date) and not isinstance(value, datetime)
    is_short = isinstance(value, str) and len(value.strip()) <= len("2026-05-03")
    return moment.replace(tzinfo=None) if is_date or is_short else moment


def _zone(moment: datetime) -> timezone:
    minutes = round((moment.utcoffset() or timedelta()) / timedelta(minutes=1))
    return timezone(timedelta(minutes=minutes)) if minutes else UTC


def checked_name(value: object, what: str) -> str | None:
    """Return a short printable name in Unicode form NFC, or None. Raises InputError."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise InputError(
            f"{what} is {value!r}; give a text that is not empty, or leave it out", param=what
        )
    if len(value) > MAX_NAME_CHARS:
        raise InputError(
            f"{what} has {len(value)} characters; at most {MAX_NAME_CHARS}", param=what
        )
    categories = set() if value.isprintable() else set(map(category, value))
    if "Cs" in categories:
        raise InputError(f"{what} {value!r} has bytes that are not UTF-8; give it another name")
    if not UNNAMEABLE.isdisjoint(categories):
        raise InputError(f"{what} {value!r} has a control character or line break; remove it")
    return composed(value)


def required_name(value: object, what: str) -> str:
    """Return a name as ``checked_name`` does. Raises InputError for None, too."""
    name = checked_name(value, what)
    if name is None:
        raise InputError(f"{what} is None; give a name", param=what)
    return name


def metadata_json(metadata: Mapping[str, JSON]) -> str:
    """Metadata in canonical JSON. Raises InputError when JSON cannot hold it."""
    if not isinstance(metadata, Mapping):
        raise InputError(
            f"metadata is a {type(metadata).__name__}; give keys and values", param="metadata"
        )
    if not metadata:
        return "{}"
    try:
        for key in metadata:
            if not isinstance(key, str):
                raise TypeError(f"key {key!r} is not a text")
        text = _canonical(dict(metadata))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"metadata cannot be stored as JSON: {error}") from error
    if "\\u0000" in text and _ESCAPED_NUL.search(text):
        raise TextEncodingError(
            "metadata has a NUL character, which databases cut texts at", param="metadata"
        )
    return check_text(text, "metadata")
