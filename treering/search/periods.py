"""Periods of time that a question names: "in May", "on 3 June 2023", "last week".

A library that reads dates in any language gives a moment, not a period ("in 2021" becomes a day of
that year), and takes milliseconds a text. Dates are read in nine languages, and times that count
back from now in English.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from math import inf
from typing import Final

_MONTH_NAMES: Final = (
    # English, German, French, Spanish, Italian, Portuguese, Dutch, Russian. Short forms are the
    # English ones: those of other languages are words ("mar", "set").
    "january jan januar jänner janvier enero gennaio janeiro januari январь января январе",
    "february feb februar février febrero febbraio fevereiro februari февраль февраля феврале",
    "march mar märz marzo março maart март марта марте",
    "april apr avril abril aprile апрель апреля апреле",
    "may mai mayo maggio maio mei май мая мае",
    "june jun juni juin junio giugno junho июнь июня июне",
    "july jul juli juillet julio luglio julho июль июля июле",
    "august aug août agosto augustus август августа августе",
    "september sep sept septembre septiembre settembre setembro сентябрь сентября сентябре",
    "october oct oktober octobre octubre ottobre outubro октябрь октября октябре",
    "november nov novembre noviembre novembro ноябрь ноября ноябре",
    "december dec dezember décembre diciembre dicembre dezembro декабрь декабря декабре",
)
_MONTHS: Final = {
    name: month for month, names in enumerate(_MONTH_NAMES, start=1) for name in names.split()
}
_DAY_S: Final = 86_400.0
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS: Final = ("week", "month", "year")

_COUNTS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}
"""How many days one unit has, and how many are meant when it is said to be ago."""

_SINCE: Final = "since|from|seit|ab|depuis|desde"
_AFTER: Final = "after|nach|après|dopo"
_BEFORE: Final = "before|vor|avant|antes de"
_UNTIL: Final = "until|till|by|bis|hasta"
_BETWEEN: Final = "between|zwischen|entre"
_WITHIN: Final = "in|during|of|last|early|late|mid|im|anfang|mitte|ende|en|durante|em|nel|в"
_PART: Final = "(?:(?:the|early|late|mid|last|month|year|of)[ -])*"
_ALONE: Final = rf"\b(?:{_SINCE}|{_AFTER}|{_BEFORE}|{_UNTIL}|{_BETWEEN}|{_WITHIN})[ -]{_PART}"
"""The words before a month or a year alone, so that "may" and "1984" are not read as dates."""

_TO: Final = re.compile(r"\s*(?:to|until|till|through|bis)\s+(?:the\s+)?|\s*[-\u2013]\s*")
_AND: Final = re.compile(r"\s*(?:and|und|y|et)\s+(?:the\s+)?")
"""The words between the two dates of one period; "and" only behind "between"."""

_SIGNS: Final = frozenset(
    {"ago", "last", "past", "previous", "this", "yesterday", "today", "tonight"}
    | {*_WEEKDAYS, *_MONTHS}
)
"""Words of a text that names a period without ``_DIGITS``."""

MOST_CHARS: Final = 2_000
"""The end of a longer text is read: the last turns of a chat end with the question."""

_WORD: Final = re.compile(r"\w+")
_DIGITS: Final = re.compile(r"(?<![a-z\d_])(?:19|20)\d\d|[月年]")
_YEARS_BACK: Final = 8  # in which there is a 29 February

_YEAR: Final = r"(?P<year>(?:19|20)\d\d)(?!\w)"
_VERB: Final = r"may (?:be|have|not|never|only|also|still|well|even|need|want|take|work)\b"
"""A verb, not a month: "of these 3 may be wrong"."""

_MONTH: Final = (
    rf"(?!{_VERB})(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})(?!\w)\.?"
)
_DAY: Final = r"(?<![\w.])(?P<day>\d{1,2})(?:st|nd|rd|th|\.|º)?(?!\w)"
_OF_YEAR: Final = rf"(?:,? (?:of |de |в )?{_YEAR})?"

_ON_WEEKDAY: Final = (
    rf"\b(?:on|since) (?P<date>(?P<unit>{'|'.join(_WEEKDAYS)})\b)"
    r"(?!,? (?:of |in )?(?:the )?[#\d]| next\b)"
)
"""The last Friday, without "last"; not "on Friday, 3 May"."""

Span = tuple[datetime, datetime]
_Read = Callable[[re.Match[str], datetime], Span | None]


@dataclass(frozen=True, slots=True)
class Period:
    """From ``start`` until before ``end``, in seconds since the epoch; either may be infinite.

    A period of the calendar, such as "1 March", is that day on the clock of each message: its
    seconds are those of a clock in UTC. "Yesterday" is a day on the clock of the question.
    """

    start: float
    end: float
    is_by_calendar: bool = True


@dataclass(frozen=True, slots=True)
class _Date:
    """A date at ``start`` to ``stop`` of a text, and the time that it spans."""

    start: int
    stop: int
    span: Span
    match: re.Match[str]
    is_by_calendar: bool

    @property
    def has_year(self) -> bool:
        """Whether its year is known; a month or a day of one may come without."""
        parts = self.match.groupdict()
        return bool(not parts.get("month") or parts.get("year"))


def periods(text: str, now: datetime, names: Collection[str] = ()) -> list[Period]:
    """Return the periods that a text names; "since May" ends never, "until May" starts never.

    "Last week" counts from ``now``, by the local clock if that has no zone. A date without a year
    is the latest one that has begun by then, in "between May and July 2025" the latest before July.
    A month alone that is one of ``names``, in small letters, is a person: "from April". Of a text
    of more than ``MOST_CHARS`` characters the end is read.
    """
    plain = text[-MOST_CHARS:].lower()
    if not (_DIGITS.search(plain) or _SIGNS.intersection(_WORD.findall(plain))):
        return []
    clock = now.replace(tzinfo=None)
    dates = sorted(_dates(plain, clock, names), key=lambda date: date.start)
    found: list[Period] = []
    last: _Date | None = None
    for date in dates:
        is_joined = last is not None and _is_joined(plain, last, date)
        (start, end), is_by_calendar = date.span, date.is_by_calendar
        if last is not None and is_joined:
            first = last.span if last.has_year else _read(_date, last.match, start) or last.span
            start, is_by_calendar = first[0], is_by_calendar or last.is_by_calendar
            found.pop()
        zone = UTC if is_by_calendar else now.tzinfo
        bounds = start.replace(tzinfo=zone).timestamp(), end.replace(tzinfo=zone).timestamp()
        if not is_joined:
            bounds = _apply_bound(plain[: date.start], *bounds)
        found.append(Period(*bounds, is_by_calendar))
        last = date
    return found


def _is_joined(text: str, first: _Date, second: _Date) -> bool:
    """Return whether two dates are one period: "from May to July", "between May and July"."""
    link = text[first.stop : second.start]
    is_between = _ends_with(text[: first.start], _BETWEEN)
    return bool(_TO.fullmatch(link) or (is_between and _AND.fullmatch(link)))


def _apply_bound(before: str, start: float, end: float) -> tuple[float, float]:
    """Return the bounds of a date behind some text: "since May" has no end, "until May" no start.

    "After May" May is over; but "after 6 May" asks of what that day brought, too.
    """
    if _ends_with(before, _SINCE):
        return start, inf
    if _ends_with(before, _AFTER):
        return start if end - start <= _DAY_S else end, inf
    if _ends_with(before, _BEFORE):
        return -inf, start
    return (-inf if _ends_with(before, _UNTIL) else start, end)


def _ends_with(text: str, words: str) -> bool:
    return re.search(rf"\b(?:{words}) {_PART}$", text) is not None


def _dates(text: str, now: datetime, names: Collection[str]) -> list[_Date]:
    """Return the dates in a text in small letters, the longer forms first."""
    dates: list[_Date] = []
    for pattern, read in _forms():
        for match in list(pattern.finditer(text)):
            span = None if match["date"] in names else _read(read, match, now)
            if span is not None:
                start, stop = match.span("date")
                dates.append(_Date(start, stop, span, match, read is _date))
                # A date is read once: "May 2023" is not 2023 as well.
                text = f"{text[:start]}{'#' * (stop - start)}{text[stop:]}"
    return dates


def _read(read: _Read, match: re.Match[str], now: datetime) -> Span | None:
    """Return the time of a date; None for an impossible time, as before the year 1."""
    try:
        return read(match, now)
    except (OverflowError, ValueError):  # datetime raises the one or the other
        return None


@cache
def _forms() -> list[tuple[re.Pattern[str], _Read]]:
    """Return the patterns of dates in small letters with their readers, the longer forms first."""
    dated = {rf"(?P<date>{form})": read for form, read in _whole_forms().items()}
    counted = {rf"\b(?P<date>{form})\b": read for form, read in _counted_forms().items()}
    by_form = {**dated, **_alone_forms(), **counted, _ON_WEEKDAY: _last}
    return [(re.compile(form), read) for form, read in by_form.items()]


def _whole_forms() -> dict[str, _Read]:
    """Return the forms of dates of two parts or more."""
    century = r"(?P<year>(?:19|20)\d\d)"
    digits = r"(?P<month>\d\d)"
    cjk_day = r"(?P<month>\d{1,2}) ?月 ?(?:(?P<day>\d{1,2}) ?[日号])?"
    return {
        # 2023-05-03 and 20230503; 2023-05
        rf"(?<![\w-]){century}(?P<sign>[-/.]?){digits}(?P=sign)(?P<day>\d\d)(?!\d)": _date,
        rf"(?<![\w-]){century}[-/]{digits}(?![\w-])": _date,
        # 2023年5月3日; 5月3日
        rf"(?<!\d){century} ?年 ?(?:{cjk_day})?": _date,
        rf"(?<!\d){cjk_day}": _date,
        # 3 May 2023, the 3rd of May; May 3rd; May 2023
        rf"{_DAY} (?:of |de )?{_MONTH}{_OF_YEAR}": _date,
        rf"(?<!\w){_MONTH} {_DAY}{_OF_YEAR}": _date,
        rf"(?<!\w){_MONTH},? (?:of |de |в )?{_YEAR}": _date,
    }


def _alone_forms() -> dict[str, _Read]:
    """Return the forms of a month or a year alone, behind a word such as "in" or "since"."""
    month = rf"(?P<date>{_MONTH})"
    second = r"\b(?:between|from) \w+ (?:and|to|until) "
    return {
        rf"{second}{month}": _date,
        rf"{second}(?P<date>{_YEAR})": _date,
        rf"{_ALONE}{month}": _date,
        rf"{_ALONE}(?P<date>{_YEAR})": _date,
    }


def _counted_forms() -> dict[str, _Read]:
    """Return the forms of times that count back from now."""
    number = rf"(?P<count>\d{{1,3}}|{'|'.join(_COUNTS)})"
    unit = "(?P<unit>day|week|month|year)"
    # "The last two weeks of the trip" are others, and "may last two weeks" is not a time.
    not_part = r"(?! (?:of|in|on|at|before|that|when)\b)"
    return {
        r"(?:the )?day before yesterday": _days_back(2),
        r"yesterday|last night": _days_back(1),
        r"today|tonight|this morning": _days_back(0),
        rf"(?<!half ){number} {unit}s? ago": _ago,
        rf"(?:last|past|previous) (?P<unit>{'|'.join((*_UNITS, *_WEEKDAYS))})": _last,
        r"this (?P<unit>week|month|year)": _this,
        rf"(?<=\bthe )(?:last|past) {number} {unit}s?{not_part}": _lately,
    }


def _date(match: re.Match[str], now: datetime) -> Span | None:
    """Return the time of a day, month or year; without a year the latest that has begun."""
    parts = match.groupdict()
    name, day = parts.get("month"), int(parts.get("day") or 0)
    month = 0 if name is None else _MONTHS.get(name) or int(name)
    if parts.get("year"):
        return _span(int(parts["year"]), month, day)
    spans = (_span(now.year - back, month, day) for back in range(_YEARS_BACK + 1))
    return next((span for span in spans if span is not None and span[0] <= now), None)


def _span(year: int, month: int, day: int) -> Span | None:
    """Return the time of a date; day, or month and day, may be 0. None for an impossible date."""
    try:
        start = datetime(year, month or 1, day or 1)
    except ValueError:
        return None
    if not month:
        return start, datetime(year + 1, 1, 1)
    days = 1 if day else calendar.monthrange(year, month)[1]
    return start, start + timedelta(days=days)


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _days_back(days: int) -> Callable[[re.Match[str], datetime], Span]:
    def read(_: re.Match[str], now: datetime) -> Span:
        start = _midnight(now) - timedelta(days=days)
        return start, start + timedelta(days=1)

    return read


def _ago(match: re.Match[str], now: datetime) -> Span | None:
    """Return so many units back, roughly: two weeks ago is a week around that day."""
    count, width = _count(match["count"]), _DAYS[match["unit"]]
    if match["unit"] == "year":
        return _span(now.year - count, 0, 0)
    start = _midnight(now) - timedelta(days=count * width + width // 2)
    return start, start + timedelta(days=width)


def _count(words: str) -> int:
    return int(words) if words.isdigit() else _COUNTS[words]


def _lately(match: re.Match[str], now: datetime) -> Span:
    """Return so many units back until today, and today."""
    today, days = _midnight(now), _count(match["count"]) * _DAYS[match["unit"]]
    return today - timedelta(days=days), today + timedelta(days=1)


def _last(match: re.Match[str], now: datetime) -> Span | None:
    """Return the unit before the present one, or the latest such day that is over."""
    unit, today = match["unit"], _midnight(now)
    monday = today - timedelta(days=today.weekday())
    if unit in _WEEKDAYS:
        start = today - timedelta(days=(today.weekday() - _WEEKDAYS.index(unit) - 1) % 7 + 1)
        return start, start + timedelta(days=1)
    if unit == "week":
        return monday - timedelta(days=7), monday
    if unit == "month":
        end = today.replace(day=1)
        return (end - timedelta(days=1)).replace(day=1), end
    return _span(now.year - 1, 0, 0)


def _this(match: re.Match[str], now: datetime) -> Span | None:
    if match["unit"] == "week":
        start = _midnight(now) - timedelta(days=now.weekday())
        return start, start + timedelta(days=7)
    return _span(now.year, now.month if match["unit"] == "month" else 0, 0)
