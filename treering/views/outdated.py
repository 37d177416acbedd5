"""Views whose rows another version made, or whose rebuild is under way."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from treering.errors import JournalCorrupt, TreeringError
from treering.journal.space import Space, SpaceReader
from treering.views import progress as places
from treering.views.contract import View, attributed

log = logging.getLogger("treering")


def outdated(views: Sequence[View], reader: SpaceReader) -> list[View]:
    """The views whose rows another version made, or whose rebuild is under way."""
    states = places.states(reader, reader.id)
    return [
        view
        for view in views
        if view.name in states and states[view.name].is_outdated(view.version)
    ]


def recognise(views: Sequence[View], space: Space) -> None:
    """Check on opening whether this version made the rows; log a warning if not.

    Rows without a version come from an earlier release. Of these a sample is compared.
    """
    with space.read() as reader:
        states = places.states(reader, reader.id)
        try:
            others = outdated(views, reader)
        except JournalCorrupt:
            return  # settings that are damaged: whoever uses them is told
        unknown = [v for v in others if states[v.name].version == places.UNKNOWN]
        sound = [v for v in unknown if states[v.name].target is None and _is_current(v, reader)]
    if sound:
        with space.write() as writer:
            states = places.states(writer, writer.id)
            for view in sound:
                state = replace(states[view.name], version=view.version)
                places.save(writer, writer.id, view.name, state)
    due = [view.name for view in others if view not in sound]
    begun = [name for name in due if states[name].target is not None]
    if begun:
        log.warning(
            "the rebuild of %s in space %r has not ended; settle() goes on with it",
            ", ".join(begun),
            space.name,
        )
    if other := ", ".join(name for name in due if name not in begun):
        log.warning(
            "another version of treering derived %s of space %r, or other settings did; "
            "settle() or `treering rebuild` derives it again",
            other,
            space.name,
        )


def _is_current(view: View, reader: SpaceReader) -> bool:
    try:
        with attributed(view):
            return view.is_current(reader)
    except TreeringError:  # damaged rows: a rebuild is what makes them sound
        return False
