"""What has to be erased: the tables that hold something of entries, and all rows of a space.

The tables of a space are read from the database, because views of other packages have tables, too.
Texts that users wrote are overwritten in place; those tables lack a column of the space. A removed
space first leaves a row without the name. The row keeps the scrubbing of the file queued, since the
erased bytes are in the file until then, and goes when that is done.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from treering.journal import staged, storage, vector_blocks
from treering.journal.contract import Reader, Value, Writer
from treering.journal.space import UNNAMED, SpaceWriter, all_models


@dataclass(frozen=True, slots=True)
class Trace:
    """Where a table may hold something of an entry: in the rows that a column leads to.

    Without a column any row of the space counts, except rows that meet the condition ``but``.
    """

    table: str
    column: str | None = None
    but: str | None = None

    @property
    def query(self) -> str:
        """Whether there is such a row, given the space and, with a column, the entries."""
        condition = f" AND NOT {self.but}" if self.but else ""
        if self.column is not None:
            condition = f" AND {self.column} IN (SELECT value FROM json_each(?))"
        return f"EXISTS (SELECT 1 FROM {self.table} WHERE space = ?{condition})"


def tables_with(reader: Reader, traces: Sequence[Trace], seqs: Collection[int]) -> frozenset[str]:
    """The tables that hold something of some entries of the reader's space."""
    listed, space = json.dumps(list(seqs)), reader.space
    params: list[Value] = []
    for trace in traces:
        params += [space] if trace.column is None else [space, listed]
    row = reader.row(f"SELECT {', '.join(trace.query for trace in traces)}", params)
    flags = row or ()
    return frozenset(trace.table for trace, flag in zip(traces, flags, strict=True) if flag)


def remove(writer: Writer, space: int, name: str) -> dict[str, int]:
    """Delete all rows of a space, by its number and its name; return how many went, by table."""
    writer.share()  # marks of scrubbing go, which others may take off
    storage.blank_space(writer, space)
    for model in all_models(writer):
        vector_blocks.drop(writer, space, model)
    staged.drop(writer, name)
    # Rows refer to each other in every direction, so references are checked at the end.
    writer.defer_references()
    gone: dict[str, int] = {}
    for table in writer.tables():
        if "space" in table.columns:
            # Most tables have the number of the space; keys and staged imports have its name.
            value = name if "space" in table.texts else space
            gone[table.name] = writer.execute(
                f'DELETE FROM "{table.name}" WHERE space = ?', (value,)
            )
    _leave_unnamed(writer, space)
    return {table: count for table, count in gone.items() if count}


def queue_scrub(writer: SpaceWriter) -> None:
    """Note that erased text of a space may be in the bytes of the file; make no space for it."""
    if writer.is_there:
        storage.queue_scrub(writer, writer.id)
    else:
        _leave_unnamed(writer, writer.id)


def _leave_unnamed(writer: Writer, space: int) -> None:
    """Keep the row of a space without its name, and with it the scrubbing of the file queued."""
    writer.execute(
        "UPDATE space SET name = ?, model = NULL, next = NULL, settings = '{}',"
        " views = '{}' WHERE id = ?",
        (f"{UNNAMED}{space}", space),
    )
    storage.queue_scrub(writer, space)
