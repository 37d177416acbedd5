"""Times as people type them: ``yesterday`` and ``3 days ago`` beside ISO 8601."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import MINYEAR, datetime, timedelta

from treering.errors import InputError
from treering.journal.fields import parse_time

_DAYS_BACK = {"today": 0, "yesterday": 1}
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: number for number, word in enumerate(_WORDS, start=1)} | {"a": 1, "an": 1}
_AGO = re.compile(rf"(\d{{1,4}}|{'|'.join(_NUMBERS)}) (day|week|month|year)s? ago")

FORMS = "a date, a year, a month (2026-05), a time (ISO 8601), today, yesterday or '3 days ago'"
"""What an option takes, for its help."""


def moment(text: str | None, now: datetime | None = None) -> str | None:
    """A time in words as ISO 8601: the start of that day where the user is.

    A time in digits is handed back as it is, for the memory to read. ``now`` is an aware time and
    stands for the clock. Raises InputError for what is no time, with the words that it takes.
    """
    if text is None:
        return None
    now = now or datetime.now().astimezone()
    day = _day(" ".join(text.lower().split()), now)
    if day is None:
        try:
            parse_time(text, "time")
        except InputError as error:
            raise InputError(f"time {text!r} cannot be read; give {FORMS}") from error
        return text
    return day.replace(hour=0, minute=0, second=0, microsecond=0).isoformat()


def _day(words: str, now: datetime) -> datetime | None:
    """A time on the day that these words name; None where they name none, or one before time."""
    if words in _DAYS_BACK:
        return now - timedelta(days=_DAYS_BACK[words])
    ago = _AGO.fullmatch(words)
    if ago is None:
        return None
    count = _NUMBERS.get(ago[1]) or int(ago[1])
    if ago[2] in ("day", "week"):
        return now - timedelta(days=count * (7 if ago[2] == "week" else 1))
    return _months_back(now, count * (12 if ago[2] == "year" else 1))


def _months_back(now: datetime, months: int) -> datetime | None:
    """The same day of an earlier month, or its last day where that month is shorter."""
    year, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    if year < MINYEAR:
        return None
    return now.replace(year=year, month=month + 1, day=min(now.day, monthrange(year, month + 1)[1]))
