"""Reads and writes the rows of the facts view. A row goes with the entry it comes from."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from treering.journal import damage, entries, storage, supersession
from treering.journal.contract import Reader, Row, Value, Writer
from treering.journal.space import SpaceReader, SpaceWriter
from treering.records import Entry, Newer
from treering.text import digest_number
from treering.views.facts.change import DatedStatement, Statement, find_superseded

VIEW: Final = "facts"
"""The name of the view, and of its queued work: entries that a language model is to read."""

MAX_SHOWN: Final = 200  # characters of a newer statement beside an older statement

Group = tuple[str, str]  # subject and attribute
Pair = tuple[DatedStatement, DatedStatement]  # a superseded statement, and the newer statement

LISTED: Final = "IN (SELECT value FROM json_each(?))"
"""The condition that a column is in a list, which is a parameter as JSON."""

_FIELDS: Final = "subject, attribute, value, sense, start, stop, single, speaker, reader"

_ATTRIBUTE_BITS: Final = 32
"""The lower half of a topic is the digest of the attribute, and the upper half of the subject."""


def put(writer: SpaceWriter, entry: int, at: int, statements: Iterable[Statement]) -> set[Group]:
    """Store statements of an entry, said ``at`` microseconds since the epoch."""
    rows = [
        (
            *(writer.id, entry, at, _topic((statement.subject, statement.attribute))),
            *(statement.subject, statement.attribute, statement.value, statement.sense),
            *(
                statement.start,
                statement.stop,
                int(statement.single),
                statement.speaker,
                statement.reader,
            ),
        )
        for statement in statements
    ]
    writer.many(
        f"INSERT INTO statement (space, entry, said, topic, {_FIELDS})"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    return {(str(row[4]), str(row[5])) for row in rows}


def _topic(group: Group) -> int:
    """Return the number by which indexes find a group."""
    subject, attribute = group
    return _first_topic(subject) + digest_number(attribute, _ATTRIBUTE_BITS, signed=False)


def _first_topic(subject: str) -> int:
    """Return the lowest topic that a group of a subject can have."""
    return digest_number(subject, 64 - _ATTRIBUTE_BITS) << _ATTRIBUTE_BITS


def of_subjects(subjects: Collection[str]) -> tuple[str, list[Value]]:
    """Return the condition, with its parameters, of statements about some subjects."""
    lowest = [_first_topic(subject) for subject in subjects]
    ranges = " OR ".join(["topic BETWEEN ? AND ?"] * len(lowest))
    bounds: list[Value] = []
    for topic in lowest:
        bounds += [topic, topic + (1 << _ATTRIBUTE_BITS) - 1]
    return f" AND ({ranges}) AND subject {LISTED}", [*bounds, json.dumps(sorted(subjects))]


def of_groups(groups: Collection[Group]) -> tuple[str, list[Value]]:
    """Return the condition, with its parameters, of statements of some groups."""
    subjects, attributes = ({group[place] for group in groups} for place in (0, 1))
    condition = f" AND topic {LISTED} AND subject {LISTED} AND attribute {LISTED}"
    values = ([_topic(group) for group in groups], subjects, attributes)
    return condition, [json.dumps(sorted(some)) for some in values]


def dated_statements(reader: Reader, condition: str = "", *params: Value) -> list[DatedStatement]:
    """The statements of a space that meet a condition, in the order they were said."""
    rows = reader.rows(
        f"SELECT {_FIELDS}, id, entry, said, newer FROM statement WHERE space = ?{condition}"
        " ORDER BY said, entry, start, id",
        (reader.space, *params),
    )
    with damage.decoding("the stored statements"):
        return [DatedStatement(_statement(row), row[9], row[10], row[11], row[12]) for row in rows]


def _statement(row: Row) -> Statement:
    subject, attribute, value, sense, start, stop, single, speaker, reader = row[:9]
    return Statement(subject, attribute, value, sense, start, stop, bool(single), speaker, reader)


def erase(writer: SpaceWriter, seqs: Sequence[int], reader: str | None = None) -> int:
    """Delete the statements of entries; return their number. Others that they superseded hold."""
    condition, params = f" AND entry {LISTED}", [json.dumps(list(seqs))]
    if reader is not None:
        condition, params = f"{condition} AND reader = ?", [*params, reader]
    groups = {statement.group for statement in dated_statements(writer, condition, *params)}
    if not groups:
        return 0
    count = writer.execute(
        f"DELETE FROM statement WHERE space = ?{condition}", (writer.id, *params)
    )
    decide(writer, groups)
    return count


def rename(writer: Writer, space: int, source: str, new: str, seqs: Sequence[int]) -> None:
    """Let what a source states of itself be of its new name: a note's "I" is called after it."""
    storage.drop_refill_mark(writer, "statement")
    old, new = source.casefold(), new.casefold()
    for column in ("subject", "speaker"):
        writer.many(
            f"UPDATE statement SET {column} = ? || substr({column}, CAST(? AS INTEGER))"
            f" WHERE space = ? AND entry = ? AND ({column} = ? OR instr({column}, ?) = 1)",
            ((new, len(old) + 1, space, seq, old, f"{old}'s ") for seq in seqs),
        )
    renamed = writer.rows(
        f"SELECT subject, attribute, id FROM statement WHERE space = ? AND entry {LISTED}",
        (space, json.dumps(list(seqs))),
    )
    writer.many(
        "UPDATE statement SET topic = ? WHERE space = ? AND id = ?",
        [(_topic((subject, attribute)), space, number) for subject, attribute, number in renamed],
    )


def decide(writer: SpaceWriter, groups: Iterable[Group]) -> None:
    """Decide again which statements of some groups are superseded; write only what has changed."""
    for group in sorted(groups):
        if may_change(writer, group):
            condition, params = of_groups([group])
            stated = dated_statements(writer, condition, *params)
            newer = {older.id: newer.id for older, newer in find_superseded(stated)}
            changed = [
                statement.id for statement in stated if statement.newer != newer.get(statement.id)
            ]
            writer.many(
                "UPDATE statement SET newer = ? WHERE space = ? AND id = ?",
                [(newer.get(number), writer.id, number) for number in changed],
            )


def may_change(reader: Reader, group: Group) -> bool:
    """Whether anything in a group is or can be superseded: of many habits none may ever end."""
    row = reader.row(
        "SELECT 1 FROM statement WHERE space = ? AND topic = ? AND subject = ? AND attribute = ?"
        " AND (single = 1 OR sense = 'ended' OR newer IS NOT NULL) LIMIT 1",
        (reader.space, _topic(group), *group),
    )
    return row is not None


def pairs(
    reader: Reader, as_of: int | None = None, condition: str = "", *params: Value
) -> list[Pair]:
    """Superseded statements, each with the newer statement, in the order of the newer ones.

    A condition is about the superseded ones. With ``as_of``, in microseconds since the epoch, the
    statements made by then decide again: a later statement may confirm a statement superseded then.
    """
    if as_of is None:
        older = dated_statements(reader, f" AND newer IS NOT NULL{condition}", *params)
        if not older:
            return []
        listed = json.dumps(sorted({statement.newer or 0 for statement in older}))
        by_id = {
            statement.id: statement
            for statement in dated_statements(reader, f" AND id {LISTED}", listed)
        }
        found = [
            (statement, by_id[statement.newer]) for statement in older if statement.newer in by_id
        ]
    else:
        chosen = dated_statements(reader, condition, *params)
        by_group = {statement.group: list[DatedStatement]() for statement in chosen}
        groups, names = of_groups(by_group)
        for statement in dated_statements(reader, groups, *names) if condition else chosen:
            if statement.at <= as_of and statement.group in by_group:
                by_group[statement.group].append(statement)
        ids = {statement.id for statement in chosen}
        decided = (pair for group in by_group.values() for pair in find_superseded(group))
        found = [pair for pair in decided if pair[0].id in ids]
    return sorted(found, key=lambda pair: (pair[1].order, pair[0].order))


def newer_entries(reader: SpaceReader) -> dict[int, int]:
    """The newer entry of each superseded one; what a person said wins over both readers."""
    as_of = reader.as_of
    if as_of is None:
        rows = reader.rows(
            "SELECT s.entry, n.entry FROM statement s"
            " JOIN statement n ON n.space = s.space AND n.id = s.newer"
            " WHERE s.space = ? AND s.newer IS NOT NULL ORDER BY n.said, n.entry",
            (reader.space,),
        )
        newer_of_older = {int(row[0]): int(row[1]) for row in rows}
    else:
        newer_of_older = {older.entry: newer.entry for older, newer in pairs(reader, as_of)}
    return newer_of_older | dict(supersession.pairs(reader, reader.id, as_of))


@dataclass(frozen=True, slots=True)
class Replacement:
    """The successor of a statement, or of a whole entry if a person said so (``id`` is None)."""

    id: int | None
    entry: int
    newer: Newer


def replacements(
    reader: SpaceReader, as_of: int | None, seqs: Collection[int]
) -> list[Replacement]:
    """The successors of the statements of some entries, in order; a person's last."""
    found = pairs(reader, as_of, f" AND entry {LISTED}", json.dumps(sorted(seqs)))
    stated = supersession.pairs(reader, reader.id, as_of, sorted(seqs))
    ends = [end.entry for pair in found for end in pair] + [seq for pair in stated for seq in pair]
    entry_of = entries.there(reader, ends)
    return [
        *(
            Replacement(older.id, older.entry, newer_of(older, newer, entry_of))
            for older, newer in found
        ),
        *(
            Replacement(None, older, Newer(entry.id, _short(entry.text.strip()), entry.at))
            for older, entry in ((older, entry_of[newer]) for older, newer in stated)
        ),
    ]


def newer_of(older: DatedStatement, newer: DatedStatement, entry_of: Mapping[int, Entry]) -> Newer:
    """A newer statement as it is shown beside the older statement."""
    entry, before = entry_of[newer.entry], entry_of[older.entry]
    of = clause(older.statement, before)
    is_whole = of == before.text.strip()
    return Newer(
        entry.id, _short(clause(newer.statement, entry)), entry.at, None if is_whole else _short(of)
    )


def clause(statement: Statement, entry: Entry) -> str:
    """The part of an entry's text that makes a statement."""
    return entry.text[statement.start : statement.stop]


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def note_read(writer: SpaceWriter, seqs: Iterable[int]) -> None:
    """Note that a language model has read entries."""
    writer.many(
        "INSERT INTO fact_reading (space, entry) VALUES (?, ?) ON CONFLICT DO NOTHING",
        ((writer.id, seq) for seq in seqs),
    )


def forget_read(writer: SpaceWriter, seqs: Sequence[int]) -> None:
    """Forget that a language model has read entries."""
    sql = f"DELETE FROM fact_reading WHERE space = ? AND entry {LISTED}"
    writer.execute(sql, (writer.id, json.dumps(list(seqs))))


def unread(reader: Reader, after: int, limit: int) -> list[int]:
    """Up to ``limit`` entries after ``after`` that no language model has read, code left out."""
    rows = reader.rows(
        "SELECT e.seq FROM entry e WHERE e.space = ? AND e.seq > ? AND e.kind <> 'code'"
        " AND NOT EXISTS (SELECT 1 FROM fact_reading r"
        " WHERE r.space = e.space AND r.entry = e.seq) ORDER BY e.seq LIMIT ?",
        (reader.space, after, limit),
    )
    return [int(row[0]) for row in rows]
