"""Filters as keyword arguments, the same in every method that takes one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from typing import Any, TypedDict

from treering.errors import FilterError
from treering.journal.fields import metadata_json, parse_bound, parse_time
from treering.records import JSON, Filter, Kind
from treering.text import check_text, composed


class Where(TypedDict, total=False):
    """Conditions that must all hold. Times may be ISO 8601 texts; ``until`` is exclusive.

    A date without a time in ``since`` and ``until`` is that day on the clock of each entry.
    ``metadata`` are values or conditions by key: see ``Filter``. ``omit`` are ids of entries to
    leave out, such as those that a prompt holds already. With ``as_of``, a time, only what was
    known then is given back, and as it was marked then.
    """

    source: str | None
    speaker: str | None
    session: str | None
    kind: Kind | None
    since: date | str | None  # a datetime is a date, too
    until: date | str | None
    metadata: Mapping[str, JSON] | None
    omit: Collection[str] | None
    as_of: date | str | None


def to_filter(where: Where) -> Filter:
    """The filter for keyword arguments. Raises FilterError for an unknown name or a bad value."""
    given: dict[str, Any] = {key: value for key, value in where.items() if value is not None}
    unknown = given.keys() - Where.__annotations__.keys()
    if unknown:
        raise FilterError(
            f"no filter {', '.join(sorted(unknown))}; there are {', '.join(Where.__annotations__)}",
            param="where",
        )
    for key in ("source", "speaker", "session"):
        if key in given:
            given[key] = _text(given[key], key)
    for key in ("since", "until"):
        if key in given:
            given[key] = parse_bound(given[key], key)
    if "as_of" in given:
        given["as_of"] = parse_time(given["as_of"], "as_of")
    metadata = given.get("metadata", {})
    if not isinstance(metadata, Mapping):
        raise FilterError(
            f"metadata is a {type(metadata).__name__}; give keys and values", param="metadata"
        )
    if metadata:
        metadata_json(metadata)
    omit = given.pop("omit", ())
    if isinstance(omit, str) or not all(isinstance(entry_id, str) for entry_id in omit):
        raise FilterError("omit takes a collection of entry ids", param="omit")
    return Filter(**given, omit=frozenset(omit))


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise FilterError(f"{key} is a {type(value).__name__}; give a text", param=key)
    return composed(check_text(value, key))
