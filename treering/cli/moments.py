"""Times as people type them: ``yesterday``, ``3 days ago``, ``in 2 weeks`` beside ISO 8601."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import MAXYEAR, MINYEAR, datetime, timedelta

from treering.errors import InputError
from treering.journal.fields import parse_time

_DAYS_BACK = {"today": 0, "yesterday": 1}
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: number for number, word in enumerate(_WORDS, start=1)} | {"a": 1, "an": 1}
_SPANS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
_COUNT = rf"(\d{{1,4}}|{'|'.join(_NUMBERS)})"
_AGO = re.compile(rf"{_COUNT} (day|week|month|year)s? ago")
_IN = re.compile(rf"in {_COUNT} (hour|day|week|month|year)s?")

FORMS = "a date, a year, a month (2026-05), a time (ISO 8601), today, yesterday or '3 days ago'"
"""What an option takes, for its help."""

FORMS_TO_COME = "a date, a year, a month (2026-05), a time (ISO 8601), tomorrow or 'in 3 days'"
"""What an option takes that is about the future."""


def moment(text: str | None, now: datetime | None = None) -> str | None:
    """A time in words as ISO 8601: the start of that day where the user is.

    A time in digits is handed back as it is, for the memory to read. ``now`` stands for the clock;
    without a zone it is a local time. Raises InputError for what is no time, with the words that
    it takes.
    """
    if text is None:
        return None
    now = now or datetime.now()
    day = _day(" ".join(text.lower().split()), now)
    if day is None:
        _parsed(text, "time", FORMS)
        return text
    return _aware(_beginning(day)).isoformat()


def moment_to_come(text: str | None, option: str, now: datetime | None = None) -> str | None:
    """A time to come in words as ISO 8601; one in digits is handed back as it is.

    ``tomorrow`` is the start of that day where the user is, ``in 3 days`` three days from ``now``.
    Raises InputError, naming the option, for what is no time, or has passed.
    """
    if text is None:
        return None
    now = now or datetime.now()
    later = _later(" ".join(text.lower().split()), now)
    later = later and _aware(later)
    if (later or _parsed(text, option, FORMS_TO_COME)) <= _aware(now):
        raise InputError(f"{option} {text!r} has passed; give {FORMS_TO_COME}")
    return later.isoformat() if later else text


def _parsed(text: str, what: str, forms: str) -> datetime:
    try:
        return parse_time(text, what)
    except InputError as error:
        raise InputError(f"{what} {text!r} cannot be read; give {forms}") from error


def _aware(time: datetime) -> datetime:
    """Add the local offset of that day, which may have another one than today."""
    return time if time.tzinfo else time.astimezone()


def _beginning(day: datetime) -> datetime:
    return day.replace(hour=0, minute=0, second=0, microsecond=0)


def _later(words: str, now: datetime) -> datetime | None:
    """The time that words such as ``in 2 weeks`` or ``yesterday`` name; None if they name none."""
    if words == "tomorrow":
        return _beginning(now + timedelta(days=1))
    ahead = _IN.fullmatch(words)
    if ahead is None:
        day = _day(words, now)
        return None if day is None else _beginning(day)
    return _moved(now, _number(ahead[1]), ahead[2])


def _day(words: str, now: datetime) -> datetime | None:
    """A time on the day that these words name; None where they name none, or one before time."""
    if words in _DAYS_BACK:
        return now - timedelta(days=_DAYS_BACK[words])
    ago = _AGO.fullmatch(words)
    if ago is None:
        return None
    return _moved(now, -_number(ago[1]), ago[2])


def _number(word: str) -> int:
    return _NUMBERS.get(word) or int(word)


def _moved(now: datetime, count: int, unit: str) -> datetime | None:
    """The time so many units later, or earlier if ``count`` is negative; None outside of time."""
    if unit in _SPANS:
        return now + count * _SPANS[unit]
    return _months_later(now, count * (12 if unit == "year" else 1))


def _months_later(now: datetime, months: int) -> datetime | None:
    """The same day of another month, or its last day where that month is shorter."""
    year, month = divmod(now.year * 12 + now.month - 1 + months, 12)
    if not MINYEAR <= year <= MAXYEAR:
        return None
    return now.replace(year=year, month=month + 1, day=min(now.day, monthrange(year, month + 1)[1]))
