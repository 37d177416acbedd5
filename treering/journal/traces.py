"""Which tables may hold something of entries that are to go: asked at once, as few do."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from treering.journal.contract import Reader, Value


@dataclass(frozen=True, slots=True)
class Trace:
    """Where a table may hold something of an entry: in the rows that a column leads to.

    Without a column any row of the space counts, but for those that are ``but``.
    """

    table: str
    column: str | None = None
    but: str | None = None

    @property
    def _condition(self) -> str:
        """What a row of the space has to meet."""
        if self.column is not None:
            return f" AND {self.column} IN (SELECT value FROM json_each(?))"
        return f" AND NOT {self.but}" if self.but else ""

    @property
    def query(self) -> str:
        """Whether there is such a row, given the space and, with a column, the entries."""
        return f"EXISTS (SELECT 1 FROM {self.table} WHERE space = ?{self._condition})"


def tables_with(reader: Reader, traces: Sequence[Trace], seqs: Collection[int]) -> frozenset[str]:
    """The tables that hold something of some entries of the reader's space."""
    listed, space = json.dumps(list(seqs)), reader.space
    params: list[Value] = []
    for trace in traces:
        params += [space] if trace.column is None else [space, listed]
    row = reader.row(f"SELECT {', '.join(trace.query for trace in traces)}", params)
    flags = row or ()
    return frozenset(trace.table for trace, flag in zip(traces, flags, strict=True) if flag)
