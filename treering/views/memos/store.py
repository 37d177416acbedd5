"""Reads and writes the rows of the memo view."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from treering.arrays import Floats
from treering.errors import UnknownMemo
from treering.journal import damage, entries
from treering.journal.contract import Reader, Row, Value, Writer
from treering.journal.entries import PAGE, moment
from treering.journal.space import EmbeddingModel
from treering.records import Entry
from treering.views.memos.record import Claim, Memo, Origin, Span

Mark = tuple[int, int, int, int]

_CURRENT: Final = "FROM memo m JOIN memo_version v ON v.space = m.space AND v.id = m.current"
_LINES: Final = " JOIN memo_line l ON l.space = v.space AND l.version = v.id AND l.covered = 1"

STANDS_FOR: Final = (
    "FROM memo_line l JOIN memo m ON m.space = l.space AND m.current = l.version"
    " JOIN memo_version v ON v.space = l.space AND v.id = l.version"
    " WHERE l.covered = 1 AND l.space = ? AND l.entry IN (SELECT value FROM json_each(?))"
)
"""Selects the current memos of some lines. It starts from the lines: a space may have thousands
of memos."""


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A state of a memo before it is stored; ``made`` in microseconds since the epoch.

    ``covered`` are the entries it stands for, and ``seen`` the others that its text may be drawn
    from. Erasing any of them erases the version. ``change`` is the entry of a person's change.
    """

    topic: str
    claims: tuple[Claim, ...]
    origin: Origin
    made: int
    covered: tuple[int, ...]
    seen: tuple[int, ...] = ()
    writer: str = ""
    pinned: bool = False
    deleted: bool = False
    change: int | None = None


@dataclass(frozen=True, slots=True)
class StoredMemo:
    """A memo with the row number of its version and the sequence numbers of its lines."""

    version: int
    memo: Memo
    covered: tuple[int, ...]


# ---------------------------------------------------------------------- writing


def add_version(writer: Writer, name: str, new: NewVersion) -> None:
    """Store a version as the current one of the memo with that name, creating the memo."""
    space = writer.space
    writer.execute(
        "INSERT INTO memo (space, name) VALUES (?, ?) ON CONFLICT DO NOTHING", (space, name)
    )
    row = writer.row("SELECT id FROM memo WHERE space = ? AND name = ?", (space, name))
    assert row is not None  # just inserted
    claims = [[claim.text, claim.supported] for claim in new.claims]
    version = writer.insert(
        "INSERT INTO memo_version (space, memo, made, origin, writer, topic, claims, pinned,"
        " deleted, change) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(space, row[0], new.made, new.origin, new.writer, new.topic),
            *(json.dumps(claims, ensure_ascii=False), int(new.pinned), int(new.deleted)),
            new.change,
        ),
    )
    lines = dict.fromkeys(new.seen, 0) | dict.fromkeys(new.covered, 1)
    writer.many(
        "INSERT INTO memo_line (space, version, entry, covered) VALUES (?, ?, ?, ?)",
        ((space, version, entry, covered) for entry, covered in lines.items()),
    )
    writer.execute(
        "UPDATE memo SET current = ? WHERE space = ? AND id = ?", (version, space, row[0])
    )


def drop_fallbacks(writer: Writer, lines: Sequence[int]) -> None:
    """Delete the fallback memos of any of these lines."""
    _drop_memos(writer, "v.origin = 'fallback'", lines)


def drop_repeated(writer: Writer, lines: Sequence[int]) -> None:
    """Delete a model's memos of these lines if a person's memos stand for all of their lines."""
    _drop_memos(
        writer,
        "NOT EXISTS (SELECT 1 FROM memo_version c"
        "  WHERE c.space = m.space AND c.memo = m.id AND c.change IS NOT NULL)"
        " AND NOT EXISTS (SELECT 1 FROM memo_line a"
        "  WHERE a.space = m.space AND a.version = m.current AND a.covered = 1"
        "  AND NOT EXISTS (SELECT 1 FROM memo_line b"
        "   JOIN memo o ON o.space = b.space AND o.current = b.version"
        "   JOIN memo_version c ON c.space = b.space AND c.id = b.version"
        "   WHERE b.space = a.space AND b.entry = a.entry AND b.covered = 1"
        "   AND c.change IS NOT NULL))",
        lines,
    )


def _drop_memos(writer: Writer, condition: str, lines: Sequence[int]) -> None:
    """Delete memos of some lines with their history."""
    space = writer.space
    sql = f"SELECT DISTINCT m.id {STANDS_FOR} AND {condition}"
    for (memo,) in list(writer.rows(sql, (space, json.dumps(lines)))):
        _drop_versions(writer, _versions(writer, memo))
        writer.execute("DELETE FROM memo WHERE space = ? AND id = ?", (space, memo))


_WRITTEN: Final = (
    "space = ? AND origin = 'written' AND id IN (SELECT current FROM memo WHERE space = ?)"
)


def has_written(reader: Reader) -> bool:
    """Whether the current version of some memo is a language model's."""
    space = reader.space
    row = reader.row(f"SELECT 1 FROM memo_version WHERE {_WRITTEN} LIMIT 1", (space, space))
    return row is not None


def let_rewrite(writer: Writer) -> None:
    """Turn a model's memos into fallback memos, which go once a model has written them again."""
    space = writer.space
    writer.execute(f"UPDATE memo_version SET origin = 'fallback' WHERE {_WRITTEN}", (space, space))


# ---------------------------------------------------------------------- memos


def current(reader: Reader, condition: str = "", *params: Value) -> list[StoredMemo]:
    """The memos that meet a condition, in the order they were first made."""
    return _load(reader, f"v.deleted = 0 AND v.id = m.current{condition}", *params)


def find(reader: Reader, name: str) -> StoredMemo:
    """One memo. Raises UnknownMemo if it is missing or deleted."""
    found = current(reader, " AND m.name = ?", name)
    if not found:
        raise UnknownMemo(f"no memo {name!r} in this space")
    return found[0]


def history(reader: Reader, name: str) -> list[StoredMemo]:
    """Every version of a memo, oldest first. Raises UnknownMemo."""
    versions = _load(reader, "m.name = ?", name)
    if not versions:
        raise UnknownMemo(f"no memo {name!r} in this space")
    return versions


def _load(reader: Reader, condition: str, *params: Value) -> list[StoredMemo]:
    rows = list(
        reader.rows(
            "SELECT v.id, m.name, v.topic, v.claims, v.origin, v.writer, v.made, v.pinned,"
            " v.deleted, (SELECT count(*) FROM memo_version o"
            " WHERE o.space = m.space AND o.memo = m.id AND o.id <= v.id)"
            " FROM memo_version v JOIN memo m ON m.space = v.space AND m.id = v.memo"
            f" WHERE m.space = ? AND {condition} ORDER BY v.memo, v.id",
            (reader.space, *params),
        )
    )
    lines = _lines_by_version(reader, [int(row[0]) for row in rows])
    memos = []
    for row in rows:
        # A damaged row raises an error that names its memo.
        with damage.decoding(f"memo {row[1]!r}"):
            memos.append(_to_memo(row, lines.get(int(row[0]), [])))
    return memos


def _to_memo(row: Row, lines: Sequence[Row]) -> StoredMemo:
    memo = Memo(
        id=str(row[1]),
        topic=str(row[2]),
        claims=tuple(Claim(str(text), bool(held)) for text, held in json.loads(row[3])),
        spans=tuple(_spans(lines)),
        origin=row[4],
        made=moment(int(row[6])),
        pinned=bool(row[7]),
        deleted=bool(row[8]),
        version=int(row[9]),
        writer=str(row[5]),
    )
    return StoredMemo(int(row[0]), memo, tuple(int(line[1]) for line in lines))


def _lines_by_version(reader: Reader, versions: Sequence[int]) -> dict[int, list[Row]]:
    """The covered lines of versions as rows: version, seq, id, source, position, at, zone."""
    lines_of: dict[int, list[Row]] = {}
    for start in range(0, len(versions), PAGE):
        rows = reader.rows(
            "SELECT l.version, e.seq, e.id, n.text, e.position, e.at, e.zone FROM memo_line l"
            " JOIN entry e ON e.space = l.space AND e.seq = l.entry"
            " JOIN source s ON s.space = e.space AND s.id = e.source"
            " JOIN label n ON n.id = s.name"
            " WHERE l.space = ? AND l.covered = 1"
            " AND l.version IN (SELECT value FROM json_each(?))"
            " ORDER BY l.version, s.id, e.position",
            (reader.space, json.dumps(versions[start : start + PAGE])),
        )
        for row in rows:
            lines_of.setdefault(int(row[0]), []).append(row)
    return lines_of


def _spans(lines: Sequence[Row]) -> Iterator[Span]:
    """One span for each run of neighbouring positions."""
    # Within a run, position minus place in the list is constant; a gap changes it.
    placed = enumerate(lines)
    for _, run in groupby(placed, key=lambda pair: (pair[1][3], pair[1][4] - pair[0])):
        rows = [row for _, row in run]
        times = [moment(int(row[5]), int(row[6])) for row in rows if row[5] is not None]
        yield Span(
            source=str(rows[0][3]),
            first=int(rows[0][4]),
            last=int(rows[-1][4]),
            entry_ids=tuple(str(row[2]) for row in rows),
            at=times[0] if times else None,
            until=times[-1] if times else None,
        )


# ---------------------------------------------------------------------- lines


def lines(reader: Reader, memo: Memo) -> dict[int, Entry]:
    """The lines that a memo stands for, in their order, without erased ones."""
    ordered = seqs(reader, memo.entry_ids)
    entry_of = entries.there(reader, ordered)
    return {seq: entry_of[seq] for seq in ordered}


def seqs(reader: Reader, identities: Sequence[str]) -> tuple[int, ...]:
    """The sequence numbers of the entries with these ids that exist, in that order."""
    rows = (
        reader.row("SELECT seq FROM entry WHERE space = ? AND id = ?", (reader.space, identity))
        for identity in identities
    )
    return tuple(int(row[0]) for row in rows if row is not None)


def seen(reader: Reader, version: int) -> tuple[int, ...]:
    """Every entry that a version's text may be drawn from, including the entry of its change."""
    rows = reader.rows(
        "SELECT entry FROM memo_line WHERE space = ? AND version = ? UNION"
        " SELECT change FROM memo_version"
        " WHERE space = ? AND id = ? AND change IS NOT NULL ORDER BY entry",
        (reader.space, version) * 2,
    )
    return tuple(int(row[0]) for row in rows)


def topics_beside(reader: Reader, entry: int) -> list[tuple[str, str]]:
    """Name and topic of the memos of an entry's conversation, oldest first."""
    rows = reader.rows(
        f"SELECT DISTINCT m.id, m.name, v.topic {_CURRENT}{_LINES}"
        " JOIN entry e ON e.space = l.space AND e.seq = l.entry"
        " WHERE m.space = ? AND v.deleted = 0 AND e.source ="
        " (SELECT source FROM entry WHERE space = ? AND seq = ?) ORDER BY m.id",
        (reader.space, reader.space, entry),
    )
    return [(str(row[1]), str(row[2])) for row in rows]


def memo_of_fragments(reader: Reader) -> dict[int, int]:
    """The number of the memo of each fragment; the first memo's if there are several."""
    rows = reader.rows(
        f"SELECT f.id, m.id {_CURRENT}{_LINES}"
        " JOIN fragment f ON f.space = l.space AND f.entry = l.entry"
        " WHERE m.space = ? AND v.deleted = 0 ORDER BY m.id DESC",
        (reader.space,),
    )
    return {int(row[0]): int(row[1]) for row in rows}


def is_written(reader: Reader, lines: Sequence[int]) -> bool:
    """Whether a memo stands for any of these lines. Deleted memos count, fallback memos do not."""
    row = reader.row(
        f"SELECT 1 {STANDS_FOR} AND v.origin <> 'fallback' LIMIT 1",
        (reader.space, json.dumps(lines)),
    )
    return row is not None


# ---------------------------------------------------------------------- vectors


def mark(reader: Reader) -> Mark:
    """Numbers that differ after any change to a memo: added, erased, embedded, or a version."""
    row = reader.row(
        "SELECT coalesce(max(m.current), 0), count(*),"
        " count(CASE WHEN v.model = s.model THEN 1 END),"
        " (SELECT count(*) FROM memo_version WHERE space = ?)"
        f" {_CURRENT} JOIN space s ON s.id = m.space WHERE m.space = ?",
        (reader.space, reader.space),
    )
    assert row is not None  # an aggregate always has a row
    return int(row[0]), int(row[1]), int(row[2]), int(row[3])


def vectors(reader: Reader, model: EmbeddingModel) -> dict[int, bytes]:
    """The vectors by that model of current versions, by version number."""
    rows = reader.rows(
        f"SELECT v.id, v.vector {_CURRENT} WHERE m.space = ? AND v.deleted = 0 AND v.model = ?",
        (reader.space, model.id),
    )
    return {int(row[0]): bytes(row[1]) for row in rows}


def save_vectors(
    writer: Writer, model: EmbeddingModel, versions: Sequence[int], matrix: Floats
) -> None:
    """Store row i of ``matrix`` for version i. Erased versions are skipped."""
    data, space = matrix.astype("<f4", copy=False), writer.space
    writer.many(
        "UPDATE memo_version SET model = ?, vector = ? WHERE space = ? AND id = ?",
        (
            (model.id, row.tobytes(), space, version)
            for version, row in zip(versions, data, strict=True)
        ),
    )


# ---------------------------------------------------------------------- erasing


def erase(writer: Writer, erased: Sequence[int]) -> tuple[int, list[int]]:
    """Erase the versions drawn from entries, in the transaction that erases the entries.

    A version goes if its text may be drawn from an erased entry, or if that entry holds the change
    that made it. If the current version goes, the memo goes with all its history, and its other
    lines are due again. Return the number of erased memos, and the entries that hold a person's
    changes of erased versions: the caller has to erase them, too.
    """
    gone, dropped, space = [], set(), writer.space
    for memo, versions in _versions_from(writer, erased).items():
        row = writer.row("SELECT current FROM memo WHERE space = ? AND id = ?", (space, memo))
        dropped |= versions
        if row is not None and row[0] in versions:
            gone.append(memo)
            dropped.update(_versions(writer, memo))
    changes = _drop_versions(writer, dropped)
    writer.many("DELETE FROM memo WHERE space = ? AND id = ?", ((space, memo) for memo in gone))
    # The remaining lines belong to deleted memos, whose versions hold no text.
    writer.many(
        "DELETE FROM memo_line WHERE space = ? AND entry = ?",
        ((space, entry) for entry in (*erased, *changes)),
    )
    return len(gone), changes


TOUCHED: Final = (
    "SELECT v.memo, v.id FROM memo_version v WHERE v.space = ?"
    " AND v.id IN (SELECT id FROM memo_version WHERE space = ? AND change = ? UNION"
    " SELECT l.version FROM memo_line l"
    " JOIN memo_version o ON o.space = l.space AND o.id = l.version"
    " WHERE l.space = ? AND l.entry = ? AND o.deleted = 0)"
)
"""A union, because each part has an index. An OR would read every version for every entry."""


def _versions_from(reader: Reader, erased: Sequence[int]) -> dict[int, set[int]]:
    """The versions drawn from entries, by memo. A deletion holds no text, so no line touches it."""
    versions: dict[int, set[int]] = {}
    space = reader.space
    for entry in erased:
        for memo, version in reader.rows(TOUCHED, (space, space, entry, space, entry)):
            versions.setdefault(int(memo), set()).add(int(version))
    return versions


def _versions(reader: Reader, memo: int) -> list[int]:
    sql = "SELECT id FROM memo_version WHERE space = ? AND memo = ?"
    return [int(row[0]) for row in reader.rows(sql, (reader.space, memo))]


def _drop_versions(writer: Writer, versions: Iterable[int]) -> list[int]:
    """Delete versions; return the entries that hold the changes which made them."""
    changes = []
    for version in versions:
        key = writer.space, version
        row = writer.row("SELECT change FROM memo_version WHERE space = ? AND id = ?", key)
        if row is not None and row[0] is not None:
            changes.append(int(row[0]))
        writer.execute("DELETE FROM memo_line WHERE space = ? AND version = ?", key)
        writer.execute("DELETE FROM memo_version WHERE space = ? AND id = ?", key)
    return changes
