"""How far each view of a space has read, and which version made its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treering.journal.contract import Reader, Value, Writer


@dataclass(frozen=True, slots=True)
class ViewState:
    """The last entry a view has ``read``, and the ``version`` that made its rows.

    During a rebuild ``target`` is the version that makes the rows again, and ``rebuilt`` the last
    entry whose rows are already made again. ``tables`` are those of a view of another package.
    """

    version: str
    read: int = 0
    target: str | None = None
    rebuilt: int = 0
    tables: tuple[str, ...] = ()

    def is_outdated(self, version: str) -> bool:
        """Whether a rebuild is due or under way."""
        return self.target is not None or self.version != version


def states(reader: Reader, space: int) -> dict[str, ViewState]:
    """The states of the views of a space, by name. A view that has read nothing is left out."""
    rows = reader.rows(
        "SELECT name, version, read, target, rebuilt, tables FROM view WHERE space = ?", (space,)
    )
    return {
        str(row[0]): ViewState(
            version=str(row[1]),
            read=int(row[2]),
            target=None if row[3] is None else str(row[3]),
            rebuilt=int(row[4]),
            tables=tuple(str(row[5]).split()),
        )
        for row in rows
    }


def foreign_tables(reader: Reader) -> frozenset[str]:
    """The tables of views of other packages, of all spaces."""
    rows = reader.rows("SELECT DISTINCT tables FROM view WHERE tables <> ''")
    return frozenset(table for row in rows for table in str(row[0]).split())


def save(writer: Writer, space: int, states: Mapping[str, ViewState]) -> None:
    """Store how far views have come, by name."""
    if not states:
        return
    values: list[Value] = []
    for name, state in states.items():
        values += [space, name, state.version, state.read, state.target, state.rebuilt]
        values.append(" ".join(state.tables))
    places = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(states))
    writer.execute(
        "INSERT INTO view (space, name, version, read, target, rebuilt, tables)"
        f" VALUES {places}"
        " ON CONFLICT (space, name) DO UPDATE SET version = excluded.version,"
        " read = excluded.read, target = excluded.target, rebuilt = excluded.rebuilt,"
        " tables = excluded.tables",
        values,
    )


def drop(writer: Writer, space: int, name: str) -> None:
    """Forget that a view has read anything."""
    writer.execute("DELETE FROM view WHERE space = ? AND name = ?", (space, name))


def after(reader: Reader, space: int, seq: int, limit: int) -> list[int]:
    """Up to ``limit`` entries of a space after ``seq``, in the order they were added."""
    rows = reader.rows(
        "SELECT seq FROM entry WHERE space = ? AND seq > ? ORDER BY seq LIMIT ?",
        (space, seq, limit),
    )
    return [int(row[0]) for row in rows]


def is_over(reader: Reader, space: int, size: int) -> bool:
    """Whether a space has more than ``size`` entries."""
    row = reader.row("SELECT 1 FROM entry WHERE space = ? LIMIT 1 OFFSET ?", (space, size))
    return row is not None


def count(reader: Reader, space: int, *, after: int, until: int | None = None) -> int:
    """How many entries of a space come after ``after``, up to and with ``until``."""
    condition, params = ("", ()) if until is None else (" AND seq <= ?", (until,))
    row = reader.row(
        f"SELECT count(*) FROM entry WHERE space = ? AND seq > ?{condition}",
        (space, after, *params),
    )
    return int(row[0]) if row else 0
