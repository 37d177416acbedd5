"""What a model was shown, so that no reply is kept that may bring forgotten text back."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from treering.facts import store as facts
from treering.fragments import store
from treering.journal import entries
from treering.journal.contract import Reader


def digests(reader: Reader, space: str, shown: Collection[str]) -> dict[str, bytes]:
    """The digests of entries that are shown, and of those that are quoted as newer than them.

    Ids that the space does not have are left out.
    """
    state = store.state(reader, space)
    if state is None:
        return {}
    marks = facts.marks(reader, entries.seqs_of(reader, state.space, shown)).values()
    newer = [newer for mark in marks for newer in (mark.superseded_by, mark.stale) if newer]
    quoted = {statement.entry_id for statement in newer}
    return entries.digests(reader, state.space, quoted.union(shown))


def changed(reader: Reader, space: str, shown: Mapping[str, bytes]) -> list[str]:
    """The ids among those of ``digests`` that are gone since, or hold another text."""
    state = store.state(reader, space)
    now = entries.digests(reader, state.space, shown.keys()) if state else {}
    return [entry for entry, digest in shown.items() if now.get(entry) != digest]
