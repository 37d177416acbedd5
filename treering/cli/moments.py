"""Times as people type them: ``yesterday``, ``3 days ago``, ``in 2 weeks`` beside ISO 8601."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from treering.errors import InputError
from treering.journal.fields import parse_time

_DAYS: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}
_SPAN: Final = re.compile(r"(in )?(\d{1,4}) (hour|day|week)s?( ago)?")
FORMS: Final = "a date, a year, a month (2026-05), a time (ISO 8601), yesterday or '3 days ago'"
"""Values of an option, for its help."""

FORMS_TO_COME: Final = "a date, a month (2026-05), a time (ISO 8601), tomorrow or 'in 3 days'"
"""Values of an option about the future."""


def moment(text: str | None, now: datetime | None = None, forms: str = FORMS) -> str | None:
    """Return a time in words as ISO 8601; one in digits stays as it is, for the memory to read.

    A day, or "3 days ago", is the start of that day where the user is; "in 3 days" counts from
    ``now``. Raise InputError, with the possible ``forms``, for anything else.
    """
    if text is None:
        return None
    time = _in_words(" ".join(text.lower().split()), now or datetime.now())
    if time is not None:
        # The local offset of that day may differ from today's.
        return (time if time.tzinfo else time.astimezone()).isoformat()
    try:
        parse_time(text, "time")
    except InputError as error:
        raise InputError(f"time {text!r} cannot be read; give {forms}") from error
    return text


def _in_words(words: str, now: datetime) -> datetime | None:
    """Return the time that words name; None if they name none."""
    if words in _DAYS:
        return _start_of_day(now + timedelta(days=_DAYS[words]))
    match = _SPAN.fullmatch(words)
    if match is None or bool(match[1]) == bool(match[4]):
        return None
    span = timedelta(**{f"{match[3]}s": int(match[2])})
    return now + span if match[1] else _start_of_day(now - span)


def _start_of_day(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0)
