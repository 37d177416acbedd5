"""The mistakes in a request, from Pydantic's errors. MCP over stdio needs this without FastAPI."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

_BRANCH: Final = re.compile(r"(str|int|float|bool|list|dict)|\w+\[.*\]")
"""A branch of a union in Pydantic's place of a mistake, which clients do not know."""


def describe_mistakes(errors: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return each wrong place (``where``) of a failed validation and its mistake (``what``)."""
    places: dict[str, dict[str, None]] = {}
    for error in errors:
        place, what = _place(error), error["msg"].removeprefix("Value error, ")
        if _is_unreadable(error):
            what = f"not JSON at character {error['loc'][-1]}: {error['ctx']['error']}"
        places.setdefault(place, {})[what] = None
    return [{"where": place, "what": " or ".join(found)} for place, found in places.items()]


def join_mistakes(mistakes: Sequence[Mapping[str, str]]) -> str:
    """Return mistakes as one text."""
    return "; ".join(f"{mistake['where']}: {mistake['what']}" for mistake in mistakes)


def _place(error: Mapping[str, Any]) -> str:
    """Return the field as a user would write it: ``messages[0].content``."""
    place = ""
    for step in () if _is_unreadable(error) else error["loc"][1:]:
        if isinstance(step, int):
            place += f"[{step}]"
        elif not _BRANCH.fullmatch(step):
            place += f".{step}" if place else step
    return place or "the body"


def _is_unreadable(error: Mapping[str, Any]) -> bool:
    """Return whether the whole body is no JSON; its place is then a number of characters."""
    return bool(error["type"] == "json_invalid" and error["loc"][0] == "body")
