"""treering inside agent frameworks. Each module needs the extra of its framework's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treering.text import storable

if TYPE_CHECKING:
    from treering.records import Hit


def storable_value(value: Any) -> Any:
    """Return a value with U+FFFD for each NUL and lone surrogate, which cannot be stored.

    A tool that printed one must not end an agent's run.
    """
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_value(part) for key, part in value.items()}
    return [storable_value(part) for part in value] if isinstance(value, list | tuple) else value


def hit_metadata(hit: Hit) -> dict[str, Any]:
    """Return the metadata of a hit, with its origin and the terms of its score."""
    return {
        **hit.metadata,
        "source": hit.source,
        "entry_id": hit.entry_id,
        "start": hit.start,
        "end": hit.end,
        "at": hit.at.isoformat() if hit.at else None,
        "speaker": hit.speaker,
        "score": hit.score if hit.why.is_scored else None,
        "why": dict(hit.why.terms),
    }
