"""Switches hooks off for a project, and on again.

The times are stored: no hook stores what was said while hooks were off, even later.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from treering.hooks.places import agents_home, make_private

Periods = dict[str, list[list[float]]]
"""Periods without hooks by project: begin and, if it is over, end, in seconds."""


def is_off(project: str | None) -> bool:
    """Return whether hooks are off in a project; None is the user's home."""
    periods = _periods().get(project or "", [])
    return bool(periods) and len(periods[-1]) == 1


def switch(project: str | None, on: bool) -> None:
    """Switch hooks on or off in a project."""
    if is_off(project) != on:
        return
    all_periods = _periods()
    periods = all_periods.setdefault(project or "", [])
    if on:
        periods[-1].append(time.time())
    else:
        periods.append([time.time()])
    make_private(agents_home())
    from treering.files import replace_file

    replace_file(_path(), json.dumps(all_periods).encode(), private=True)


def off_periods(project: str | None) -> list[tuple[float, float]]:
    """Return the periods without hooks of a project, in seconds; the last may not be over."""
    periods = _periods().get(project or "", [])
    return [(start, end[0] if end else float("inf")) for start, *end in periods]


def _path() -> Path:
    return agents_home() / "off.json"


def _periods() -> Periods:
    try:
        periods: Periods = json.loads(_path().read_bytes())
    except FileNotFoundError:
        return {}
    return periods
