"""What a view derives from a batch: an entry that it cannot read holds up no other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from treering.errors import TreeringError, ViewError
from treering.records import Entry
from treering.views.contract import View, attributed, is_foreign

log = logging.getLogger("treering")

Derive = Callable[[Mapping[int, Entry]], Mapping[int, Any]]


@dataclass(frozen=True, slots=True)
class Derivation:
    """What to store for entries, and the errors of those that the view could not read."""

    rows: Mapping[int, Any]
    refused: Mapping[int, ViewError] = field(default_factory=dict)


def derived_by(view: View, derive: Derive, entries: Mapping[int, Entry]) -> Derivation:
    """What a method of a view derives from entries, together or else one by one.

    Raises TreeringError for what is no matter of a single entry, such as a model that is not there;
    ViewError if a view of another package fails.
    """
    with attributed(view):
        try:
            return Derivation(derive(entries))
        except TreeringError:
            raise
        except Exception:
            # Who waits for a service that is down would wait for it again with each entry.
            if is_foreign(view):
                raise
    rows: dict[int, Any] = {}
    refused: dict[int, ViewError] = {}
    for seq, entry in entries.items():
        try:
            with attributed(view, entry):
                rows |= derive({seq: entry})
        except ViewError as error:
            refused[seq] = error
    return Derivation(rows, refused)


def warn_of(derived: Derivation) -> None:
    """Log which entries a view could not read, and why."""
    for error in derived.refused.values():
        log.warning("%s; the entry stays queued, and settle() tries it again", error)
