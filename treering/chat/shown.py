"""Digests of what a model was shown: a reply that may bring forgotten text back is not kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from treering.journal import entries
from treering.journal.space import SpaceReader
from treering.search.marks import Marker, Quote


def digests(reader: SpaceReader, shown: Collection[str], marks: Marker) -> dict[str, bytes]:
    """The digests of entries that are shown, and of those that are quoted as newer than them.

    Ids that the space does not have are left out.
    """
    entry_by_seq = entries.by_seq(reader, entries.seqs_of(reader, reader.id, shown))
    quotes = [Quote.whole(seq, entry) for seq, entry in entry_by_seq.items()]
    newer = {
        newer.entry_id
        for mark in marks(reader, quotes)
        for newer in (mark.superseded_by, mark.stale)
        if newer is not None
    }
    return entries.digests(reader, reader.id, newer.union(shown))


def changed(reader: SpaceReader, shown: Mapping[str, bytes]) -> list[str]:
    """The ids among those of ``digests`` that are gone since, or hold another text."""
    now = entries.digests(reader, reader.id, shown.keys())
    return [entry for entry, digest in shown.items() if now.get(entry) != digest]
