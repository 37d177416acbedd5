"""Times as people type them: ``yesterday`` and ``3 days ago`` beside ISO 8601."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_DAYS_BACK = {"today": 0, "yesterday": 1}
_AGO = re.compile(r"(\d{1,4}) (day|week)s? ago")

FORMS = "a date, a year, a month (2026-05), a time (ISO 8601), today, yesterday or '3 days ago'"
"""What an option takes, for its help."""


def moment(text: str | None, now: datetime | None = None) -> str | None:
    """A time in words as ISO 8601: the start of that day where the user is.

    Everything else is handed back as it is, for the memory to read or to refuse. ``now`` is an
    aware time and stands for the clock.
    """
    days = None if text is None else _days_back(" ".join(text.lower().split()))
    if days is None:
        return text
    day = (now or datetime.now().astimezone()) - timedelta(days=days)
    return day.replace(hour=0, minute=0, second=0, microsecond=0).isoformat()


def _days_back(words: str) -> int | None:
    if words in _DAYS_BACK:
        return _DAYS_BACK[words]
    ago = _AGO.fullmatch(words)
    return int(ago[1]) * (7 if ago[2] == "week" else 1) if ago else None
