"""Filters as keyword arguments: the same ones wherever something is found."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict, cast

from treering.errors import FilterError
from treering.ingest.drafts import metadata_json, parse_time
from treering.records import JSON, Filter, Kind


class Where(TypedDict, total=False):
    """Conditions that must all hold. Times may be ISO 8601 texts; ``until`` is exclusive."""

    source: str | None
    speaker: str | None
    session: str | None
    kind: Kind | None
    since: datetime | str | None
    until: datetime | str | None
    metadata: Mapping[str, JSON] | None


def to_filter(where: Where) -> Filter:
    """The filter that keyword arguments mean. Raises FilterError for one that is not known."""
    given: dict[str, Any] = {key: value for key, value in where.items() if value is not None}
    unknown = given.keys() - Where.__annotations__.keys()
    if unknown:
        raise FilterError(
            f"no filter {', '.join(sorted(unknown))}; there are {', '.join(Where.__annotations__)}"
        )
    for key in ("since", "until"):
        if key in given:
            given[key] = parse_time(given[key], key)
    metadata_json(cast("Mapping[str, JSON]", given.get("metadata", {})))
    return Filter(**given)
