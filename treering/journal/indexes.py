"""Whether the indexes of a file lead to all entries: a damaged one hides some without an error."""

from __future__ import annotations

import json
from collections.abc import Collection

from treering.errors import JournalCorrupt
from treering.journal.space import SpaceReader

HELP = "`treering doctor --reindex` makes all indexes anew from the entries themselves"


def refuse_incomplete(reader: SpaceReader, numbers: Collection[int] | None = None) -> None:
    """Raise JournalCorrupt if indexes lead to different numbers of a space's entries.

    Of the sources of these ``numbers``, or of all. A server sees to its indexes itself.
    """
    of_all, of_sources = reader.dialect.entry_indexes
    indexes, where = of_all, ""
    params: tuple[int | str, ...] = (reader.id,)
    if numbers is not None:
        indexes, where = of_sources, " AND source IN (SELECT value FROM json_each(?))"
        params = (reader.id, json.dumps(list(numbers)))
    counts = {
        index: reader.row(
            f"SELECT count(*) FROM entry INDEXED BY {index} WHERE space = ?{where}", params
        )
        for index in indexes
    }
    sizes = {index: int(row[0]) if row else 0 for index, row in counts.items()}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{size:,} by {index}" for index, size in sizes.items())
        raise JournalCorrupt(
            f"an index is damaged and hides entries of space {reader.name!r}: there are {told}; "
            f"{HELP}"
        )
