"""How far each view of a space has read, and which version made its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from treering.journal import damage
from treering.journal.contract import Reader
from treering.journal.space import SpaceReader, SpaceWriter


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


def states(reader: SpaceReader) -> dict[str, ViewState]:
    """The states of the views of a space, by name. A view that has read nothing is left out."""
    return _parse(reader.state.views)


def _parse(views: str) -> dict[str, ViewState]:
    with damage.decoding("how far the views have read"):
        stored = damage.checked(dict, json.loads(views))
        return {
            name: ViewState(**state | {"tables": tuple(state.get("tables", ()))})
            for name, state in stored.items()
        }


def foreign_tables(reader: Reader) -> frozenset[str]:
    """The tables of views of other packages, of all spaces."""
    rows = reader.rows("""SELECT views FROM space WHERE instr(views, '"tables"') > 0""")
    return frozenset(
        table for row in rows for state in _parse(row[0]).values() for table in state.tables
    )


def save(writer: SpaceWriter, changed: Mapping[str, ViewState]) -> None:
    """Store how far views have come, by name."""
    _save(writer, {**states(writer), **changed})


def drop(writer: SpaceWriter, name: str) -> None:
    """Forget that a view has read anything."""
    _save(writer, {other: state for other, state in states(writer).items() if other != name})


def _save(writer: SpaceWriter, all_states: Mapping[str, ViewState]) -> None:
    # Without what has its default, which is all but the tables of other packages, mostly.
    stored = {
        name: {key: value for key, value in asdict(state).items() if value or key == "version"}
        for name, state in all_states.items()
    }
    writer.set_views(json.dumps(stored))


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
