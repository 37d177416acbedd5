"""Reads and writes the rows of the memo view."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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

_COVERED, _SEEN, _CHANGE = 1, 0, -1
"""The entries of a memo: lines that it stands for, others that its text or a person's change may
be drawn from, and the entries of a person's changes."""

_LINES: Final = " JOIN memo_line l ON l.space = m.space AND l.memo = m.id AND l.covered = 1"

STANDS_FOR: Final = (
    "FROM memo_line l JOIN memo m ON m.space = l.space AND m.id = l.memo"
    " WHERE l.covered = 1 AND l.space = ? AND l.entry IN (SELECT value FROM json_each(?))"
)
"""Selects the memos of some lines, beginning with these: a space may have thousands of memos."""

_IS_CHANGED: Final = (
    "EXISTS (SELECT 1 FROM memo_line c WHERE c.space = {0}.space AND c.memo = {0}.id"
    " AND c.covered = -1)"
)
"""Whether a person has changed a memo."""


@dataclass(frozen=True, slots=True)
class NewMemo:
    """A state of a memo before it is stored; ``made`` in microseconds since the epoch.

    ``covered`` are the entries it stands for, and ``seen`` the others that its text may be drawn
    from. Erasing any of them erases the memo. ``change`` is the entry of a person's change.
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
    """A memo with its number, the number of its version, and the numbers of its lines."""

    number: int
    version: int
    memo: Memo
    covered: tuple[int, ...]


# ---------------------------------------------------------------------- writing


def put(writer: Writer, name: str, new: NewMemo) -> None:
    """Store the state of the memo with that name, creating the memo.

    What a person's change was drawn from stays noted, as long as its entry is there.
    """
    space, claims = writer.space, [[claim.text, claim.supported] for claim in new.claims]
    writer.execute(
        "INSERT INTO memo (space, name, version, made, origin, writer, topic, claims, pinned,"
        " deleted) VALUES"
        " (?, ?, (SELECT coalesce(max(version), 0) + 1 FROM memo WHERE space = ?),"
        " ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (space, name) DO UPDATE SET"
        " version = excluded.version, made = excluded.made, origin = excluded.origin,"
        " writer = excluded.writer, topic = excluded.topic, claims = excluded.claims,"
        " pinned = excluded.pinned, deleted = excluded.deleted, model = NULL, vector = NULL",
        (
            *(space, name, space, new.made, new.origin, new.writer, new.topic),
            *(json.dumps(claims, ensure_ascii=False), int(new.pinned), int(new.deleted)),
        ),
    )
    row = writer.row("SELECT id FROM memo WHERE space = ? AND name = ?", (space, name))
    assert row is not None  # just stored
    key = space, int(row[0])
    if _changes(writer, key[1]):
        writer.execute(
            "UPDATE memo_line SET covered = 0 WHERE space = ? AND memo = ? AND covered = 1", key
        )
    else:
        writer.execute("DELETE FROM memo_line WHERE space = ? AND memo = ?", key)
    lines = dict.fromkeys(new.seen, _SEEN) | dict.fromkeys(new.covered, _COVERED)
    if new.change is not None:
        lines[new.change] = _CHANGE
    writer.many(
        "INSERT INTO memo_line (space, memo, entry, covered) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (space, memo, entry) DO UPDATE SET covered = excluded.covered",
        ((*key, entry, covered) for entry, covered in lines.items()),
    )


def _changes(reader: Reader, memo: int) -> list[int]:
    """The entries of a person's changes of a memo, oldest first."""
    sql = "SELECT entry FROM memo_line WHERE space = ? AND memo = ? AND covered = -1 ORDER BY entry"
    return [int(row[0]) for row in reader.rows(sql, (reader.space, memo))]


def drop_fallbacks(writer: Writer, lines: Sequence[int]) -> None:
    """Delete the fallback memos of any of these lines."""
    _drop_memos(writer, "m.origin = 'fallback'", lines)


def drop_repeated(writer: Writer, lines: Sequence[int]) -> None:
    """Delete a model's memos of these lines if a person's memos stand for all of their lines."""
    _drop_memos(
        writer,
        f"NOT {_IS_CHANGED.format('m')}"
        " AND NOT EXISTS (SELECT 1 FROM memo_line a"
        "  WHERE a.space = m.space AND a.memo = m.id AND a.covered = 1"
        "  AND NOT EXISTS (SELECT 1 FROM memo_line b"
        "   JOIN memo o ON o.space = b.space AND o.id = b.memo"
        "   WHERE b.space = a.space AND b.entry = a.entry AND b.covered = 1"
        f"   AND {_IS_CHANGED.format('o')}))",
        lines,
    )


def _drop_memos(writer: Writer, condition: str, lines: Sequence[int]) -> None:
    """Delete memos of some lines."""
    sql = f"SELECT DISTINCT m.id {STANDS_FOR} AND {condition}"
    for (memo,) in list(writer.rows(sql, (writer.space, json.dumps(lines)))):
        _drop(writer, int(memo))


def _drop(writer: Writer, memo: int) -> None:
    key = writer.space, memo
    writer.execute("DELETE FROM memo_line WHERE space = ? AND memo = ?", key)
    writer.execute("DELETE FROM memo WHERE space = ? AND id = ?", key)


_WRITTEN: Final = f"space = ? AND origin = 'written' AND NOT {_IS_CHANGED.format('memo')}"


def has_written(reader: Reader) -> bool:
    """Whether a language model wrote some memo that no person has changed."""
    row = reader.row(f"SELECT 1 FROM memo WHERE {_WRITTEN} LIMIT 1", (reader.space,))
    return row is not None


def let_rewrite(writer: Writer) -> None:
    """Turn a model's memos into fallback memos, which go once a model has written them again."""
    writer.execute(f"UPDATE memo SET origin = 'fallback' WHERE {_WRITTEN}", (writer.space,))


# ---------------------------------------------------------------------- memos


def current(reader: Reader, condition: str = "", *params: Value) -> list[StoredMemo]:
    """The memos that meet a condition, in the order they were first made."""
    rows = list(
        reader.rows(
            "SELECT m.id, m.version, m.name, m.topic, m.claims, m.origin, m.writer, m.made,"
            f" m.pinned FROM memo m WHERE m.space = ? AND m.deleted = 0{condition} ORDER BY m.id",
            (reader.space, *params),
        )
    )
    lines = _lines_by_memo(reader, [int(row[0]) for row in rows])
    memos = []
    for row in rows:
        # A damaged row raises an error that names its memo.
        with damage.decoding(f"memo {row[2]!r}"):
            memos.append(_to_memo(row, lines.get(int(row[0]), [])))
    return memos


def find(reader: Reader, name: str) -> StoredMemo:
    """One memo. Raises UnknownMemo if it is missing or deleted."""
    memos = current(reader, " AND m.name = ?", name)
    if not memos:
        raise UnknownMemo(f"no memo {name!r} in this space")
    return memos[0]


def _to_memo(row: Row, lines: Sequence[Row]) -> StoredMemo:
    memo = Memo(
        id=str(row[2]),
        topic=str(row[3]),
        claims=tuple(Claim(str(text), bool(held)) for text, held in json.loads(row[4])),
        spans=tuple(_spans(lines)),
        origin=row[5],
        made=moment(int(row[7])),
        pinned=bool(row[8]),
        writer=str(row[6]),
    )
    covered = tuple(int(line[1]) for line in lines)
    return StoredMemo(int(row[0]), int(row[1]), memo, covered)


def _lines_by_memo(reader: Reader, memos: Sequence[int]) -> dict[int, list[Row]]:
    """The covered lines of memos as rows: memo, seq, id, source, position, at, zone."""
    lines_of: dict[int, list[Row]] = {}
    for start in range(0, len(memos), PAGE):
        rows = reader.rows(
            "SELECT l.memo, e.seq, e.id, n.text, e.position, e.at, e.zone FROM memo_line l"
            " JOIN entry e ON e.space = l.space AND e.seq = l.entry"
            " JOIN source s ON s.space = e.space AND s.id = e.source"
            " JOIN label n ON n.id = s.name"
            " WHERE l.space = ? AND l.covered = 1"
            " AND l.memo IN (SELECT value FROM json_each(?))"
            " ORDER BY l.memo, s.id, e.position",
            (reader.space, json.dumps(memos[start : start + PAGE])),
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
    there = entries.there(reader, entries.seqs_of(reader, reader.space, memo.entry_ids))
    order = memo.entry_ids
    return dict(sorted(there.items(), key=lambda item: order.index(item[1].id)))


def seen(reader: Reader, memo: int) -> tuple[int, ...]:
    """Every entry that a memo's text may be drawn from, but for a person's changes."""
    rows = reader.rows(
        "SELECT entry FROM memo_line WHERE space = ? AND memo = ? AND covered >= 0 ORDER BY entry",
        (reader.space, memo),
    )
    return tuple(int(row[0]) for row in rows)


def topics_beside(reader: Reader, entry: int) -> list[tuple[str, str]]:
    """Name and topic of the memos of an entry's conversation, oldest first."""
    rows = reader.rows(
        f"SELECT DISTINCT m.id, m.name, m.topic FROM memo m{_LINES}"
        " JOIN entry e ON e.space = l.space AND e.seq = l.entry"
        " WHERE m.space = ? AND m.deleted = 0 AND e.source ="
        " (SELECT source FROM entry WHERE space = ? AND seq = ?) ORDER BY m.id",
        (reader.space, reader.space, entry),
    )
    return [(str(row[1]), str(row[2])) for row in rows]


def memo_of_fragments(reader: Reader) -> dict[int, int]:
    """The number of the memo of each fragment; the first memo's if there are several."""
    rows = reader.rows(
        f"SELECT f.id, m.id FROM memo m{_LINES}"
        " JOIN fragment f ON f.space = l.space AND f.entry = l.entry"
        " WHERE m.space = ? AND m.deleted = 0 ORDER BY m.id DESC",
        (reader.space,),
    )
    return {int(row[0]): int(row[1]) for row in rows}


def is_written(reader: Reader, lines: Sequence[int]) -> bool:
    """Whether a memo stands for any of these lines. Deleted memos count, fallback memos do not."""
    row = reader.row(
        f"SELECT 1 {STANDS_FOR} AND m.origin <> 'fallback' LIMIT 1",
        (reader.space, json.dumps(lines)),
    )
    return row is not None


# ---------------------------------------------------------------------- vectors


def mark(reader: Reader) -> Mark:
    """Numbers that differ after any change to a memo: added, changed, erased or embedded."""
    row = reader.row(
        "SELECT coalesce(max(m.version), 0), coalesce(max(m.id), 0), count(*),"
        " count(CASE WHEN m.model = s.model THEN 1 END)"
        " FROM memo m JOIN space s ON s.id = m.space WHERE m.space = ?",
        (reader.space,),
    )
    assert row is not None  # an aggregate always has a row
    return int(row[0]), int(row[1]), int(row[2]), int(row[3])


def vectors(reader: Reader, model: EmbeddingModel) -> dict[int, bytes]:
    """The vectors of memos by that model, by the memo's number."""
    rows = reader.rows(
        "SELECT id, vector FROM memo WHERE space = ? AND deleted = 0 AND model = ?",
        (reader.space, model.id),
    )
    return {int(row[0]): bytes(row[1]) for row in rows}


def save_vectors(
    writer: Writer, model: EmbeddingModel, memos: Sequence[StoredMemo], matrix: Floats
) -> None:
    """Store row i of ``matrix`` for memo i. Memos that were erased or changed are skipped."""
    data, space = matrix.astype("<f4", copy=False), writer.space
    writer.many(
        "UPDATE memo SET model = ?, vector = ? WHERE space = ? AND id = ? AND version = ?",
        (
            (model.id, row.tobytes(), space, stored.number, stored.version)
            for stored, row in zip(memos, data, strict=True)
        ),
    )


# ---------------------------------------------------------------------- erasing


def erase(writer: Writer, erased: Sequence[int]) -> tuple[int, list[int]]:
    """Erase the memos of entries, in the transaction that erases the entries.

    A memo goes if its text may be drawn from an erased entry, or if that entry holds a change of
    it; its other lines are due again. A deleted memo holds no text and stays, without the changes
    before its deletion, unless the deletion is erased. Return the number of erased memos, and the
    entries that hold a person's changes: the caller has to erase them, too.
    """
    space, count, going = writer.space, 0, list[int]()
    touched = {
        (int(memo), bool(deleted))
        for entry in erased
        for memo, deleted in writer.rows(TOUCHED, (space, entry))
    }
    for memo, is_deleted in sorted(touched):
        changes = _changes(writer, memo)
        if is_deleted and changes and changes[-1] not in erased:
            going += changes[:-1]
            continue
        going += changes
        count += 1
        _drop(writer, memo)
    writer.many(
        "DELETE FROM memo_line WHERE space = ? AND entry = ?",
        ((space, entry) for entry in (*erased, *going)),
    )
    return count, going


TOUCHED: Final = (
    "SELECT m.id, m.deleted FROM memo_line l JOIN memo m ON m.space = l.space AND m.id = l.memo"
    " WHERE l.space = ? AND l.entry = ?"
)
