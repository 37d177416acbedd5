"""Reads and writes the rows of the facts view. A row goes with the entries it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from treering.errors import JournalCorrupt
from treering.journal import damage, entries, storage, supersession
from treering.journal.contract import Reader, Row, Value, Writer
from treering.journal.space import SpaceReader
from treering.records import Entry, Hit, Newer
from treering.search.marks import UNMARKED, Mark
from treering.views.facts.change import DatedStatement, superseded
from treering.views.facts.clauses import clauses
from treering.views.facts.record import Statement

RULE: Final = "rule"
PERSON: Final = "person"
BY_PERSON: Final = "superseded"
"""The slot of what a person said is superseded: it may be anything."""

STALE_SLOTS: Final = frozenset({"home", "employer"})
"""Slots whose values are names: other messages with a superseded name may be outdated, too."""

MIN_NAME_CHARS: Final = 3
MAX_SHOWN: Final = 200  # characters of a newer statement beside an older one

_JOINT: Final = re.compile(
    r"[;,—–]\s+(?:(?:and|but|so|or)\s+)?|\s+(?:and|but|so|because|although|while)\s+"
)
"""Where one part of a sentence ends and the next begins."""

Group = tuple[str, str]
"""Subject and slot."""


_NEWER: Final = (
    "o.stale, e.id, b.text, o.start, o.stop, e.at, old.text, s.start, s.stop, s.value,"
    " o.newer, o.entry"
)
_OLDER: Final = (
    "FROM superseded o JOIN entry e ON e.space = o.space AND e.seq = o.newer"
    " LEFT JOIN body b ON b.id = e.body"
    " JOIN entry older ON older.space = o.space AND older.seq = o.entry"
    " LEFT JOIN body old ON old.id = older.body"
    " LEFT JOIN statement s ON s.space = o.space"
    " AND s.entry = o.entry AND s.subject = o.subject AND s.slot = o.slot AND o.stale = 0"
)
"""A model's verdict has no statement: it is about the whole message."""


def judged(reader: Reader, space: int) -> int:
    """The last entry that a language model has judged, by sequence number; 0 before the first."""
    row = reader.row("SELECT judged FROM fact_mark WHERE space = ?", (space,))
    return int(row[0]) if row else 0


def set_judged(writer: Writer, space: int, seq: int) -> None:
    """Store the last entry that a language model has judged."""
    writer.execute(
        "INSERT INTO fact_mark (space, judged) VALUES (?, ?)"
        " ON CONFLICT (space) DO UPDATE SET judged = excluded.judged",
        (space, seq),
    )


def unjudged(reader: Reader, space: int, limit: int) -> list[int]:
    """The next entries that no model has judged, at most ``limit``."""
    rows = reader.rows(
        "SELECT seq FROM entry WHERE space = ? AND seq > ? ORDER BY seq LIMIT ?",
        (space, judged(reader, space), limit),
    )
    return [int(row[0]) for row in rows]


def seq_of(reader: Reader, space: int, hit: Hit) -> int:
    """The sequence number of a hit's entry; 0, which is no entry's, if it was erased."""
    row = reader.row("SELECT seq FROM entry WHERE space = ? AND id = ?", (space, hit.entry_id))
    return int(row[0]) if row else 0


def put(
    writer: Writer, space: int, entry: int, said_at: int, statements: Iterable[Statement]
) -> None:
    """Store the statements of an entry, said at ``said_at`` microseconds since the epoch."""
    writer.many(
        "INSERT INTO statement (space, entry, start, stop, subject, slot, value, sense, said)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                space,
                entry,
                statement.start,
                statement.stop,
                statement.subject,
                statement.slot,
                statement.value,
                statement.sense,
                said_at,
            )
            for statement in statements
        ),
    )


def dated_statements(
    reader: Reader, space: int, group: Group | None = None
) -> list[DatedStatement]:
    """The statements of a space, or of one subject and slot, in the order they were said."""
    condition, params = ("", ()) if group is None else (" AND subject = ? AND slot = ?", group)
    rows = reader.rows(
        "SELECT subject, slot, value, sense, start, stop, entry, said FROM statement"
        f" WHERE space = ?{condition} ORDER BY said, entry, start",
        (space, *params),
    )
    with damage.decoding("the stored statements"):
        return [DatedStatement(Statement(*row[:6]), int(row[6]), int(row[7])) for row in rows]


def newest_entries(reader: Reader, space: int, limit: int = 64) -> list[int]:
    """The entries of the last ``limit`` statements."""
    rows = reader.rows(
        "SELECT entry FROM statement WHERE space = ? ORDER BY id DESC LIMIT ?", (space, limit)
    )
    return sorted({int(row[0]) for row in rows})


def states_this(reader: Reader, entry: int, statements: Sequence[Statement]) -> bool:
    """Whether exactly these statements are stored for an entry."""
    rows = reader.rows(
        "SELECT subject, slot, value, sense, start, stop FROM statement"
        " WHERE space = ? AND entry = ? ORDER BY id",
        (reader.space, entry),
    )
    return [Statement(*row) for row in rows] == list(statements)


def has_end(reader: Reader, space: int, group: Group) -> bool:
    """Whether a statement of a group is an end. Without one, no habit is superseded."""
    row = reader.row(
        "SELECT 1 FROM statement WHERE space = ? AND subject = ? AND slot = ? AND sense = 'ends'"
        " LIMIT 1",
        (space, *group),
    )
    return row is not None


def decide(writer: Writer, space: int, group: Group) -> None:
    """Decide again which statements of a group are superseded, and which entries are outdated.

    Only changes are written, because the search for outdated entries reads many entries.
    """
    by_newer: dict[int, list[tuple[DatedStatement, DatedStatement]]] = {}
    for older, newer in superseded(dated_statements(writer, space, group)):
        by_newer.setdefault(newer.entry, []).append((older, newer))
    before = _decided(writer, space, group)
    for entry in before.keys() | by_newer.keys():
        now = by_newer.get(entry, [])
        if before.get(entry) == {older.entry for older, _ in now}:
            continue
        writer.execute(
            "DELETE FROM superseded"
            " WHERE space = ? AND subject = ? AND slot = ? AND newer = ? AND made_by = ?",
            (space, *group, entry, RULE),
        )
        for older, newer in now:
            put_superseded(writer, space, older.entry, newer, stale=False, made_by=RULE)
            if older.statement.slot in STALE_SLOTS:
                for mention in _mentioning(writer, space, older, newer):
                    put_superseded(writer, space, mention, newer, stale=True, made_by=RULE)


def _decided(reader: Reader, space: int, group: Group) -> dict[int, set[int]]:
    """The entries of a group that the rules call superseded, by the newer entry."""
    rows = reader.rows(
        "SELECT newer, entry FROM superseded"
        " WHERE space = ? AND subject = ? AND slot = ? AND stale = 0 AND made_by = ?",
        (space, *group, RULE),
    )
    decided: dict[int, set[int]] = {}
    for newer, entry in rows:
        decided.setdefault(int(newer), set()).add(int(entry))
    return decided


def put_superseded(
    writer: Writer, space: int, entry: int, newer: DatedStatement, *, stale: bool, made_by: str
) -> None:
    """Note that a statement supersedes an entry or, with ``stale``, may outdate it."""
    statement = newer.statement
    writer.execute(
        "INSERT INTO superseded (space, entry, newer, start, stop, subject, slot, stale, made_by)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            *(
                space,
                entry,
                newer.entry,
                statement.start,
                statement.stop,
                statement.subject,
                statement.slot,
            ),
            *(int(stale), made_by),
        ),
    )


def marks(reader: Reader, seqs: Sequence[int], until: int | None = None) -> dict[int, Mark]:
    """The marks of entries by what was said ``until`` then; entries without a mark are left out."""
    mark_of: dict[int, Mark] = {}
    unique = sorted(set(seqs))
    for start in range(0, len(unique), entries.PAGE):
        chunk = unique[start : start + entries.PAGE]
        rows = _whole(
            reader,
            _NEWER,
            f"o.entry IN ({', '.join('?' * len(chunk))})"
            " AND (CAST(? AS BIGINT) IS NULL OR coalesce(e.at, e.added) <= ?)"
            " ORDER BY coalesce(e.at, e.added), e.seq",
            (*chunk, until, until),
        )
        for row in rows:  # the newest counts
            before, newer = mark_of.get(int(row[-1]), UNMARKED), _newer(row)
            mark_of[int(row[-1])] = (
                replace(before, stale=newer) if row[0] else replace(before, superseded_by=newer)
            )
    return mark_of


def newer_entries(reader: Reader, space: int) -> dict[int, int]:
    """The newer entry of each superseded entry."""
    rows = reader.rows(
        "SELECT o.entry, o.newer FROM superseded o"
        " JOIN entry e ON e.space = o.space AND e.seq = o.newer"
        " WHERE o.space = ? AND o.stale = 0 ORDER BY coalesce(e.at, e.added), e.seq",
        (space,),
    )
    return {int(row[0]): int(row[1]) for row in rows}


@dataclass(frozen=True, slots=True)
class Replacement:
    """An entry whose statement of a subject and slot was superseded by that of a newer entry.

    A verdict of a model, or of a person, is about whole entries and has no subject.
    """

    older: int
    newer: int
    subject: str
    slot: str
    made_by: str
    statement: Newer


def replacements(reader: Reader) -> list[Replacement]:
    """What is superseded by what, in the order of the newer statements."""
    return _replacements(reader)


def verdicts(reader: Reader, until: int, older: Sequence[int] | None = None) -> list[Replacement]:
    """What models judged to be superseded, of all entries or some, by what was said until then."""
    condition = " AND o.made_by <> ? AND coalesce(e.at, e.added) <= ?"
    params: list[Value] = [RULE, until]
    if older is not None:
        condition += f" AND o.entry IN ({', '.join('?' * len(older))})"
        params += older
    return _replacements(reader, condition, params)


def _replacements(
    reader: Reader, condition: str = "", params: Sequence[Value] = ()
) -> list[Replacement]:
    rows = _whole(
        reader,
        f"{_NEWER}, o.subject, o.slot, o.made_by",
        f"o.stale = 0{condition} ORDER BY coalesce(e.at, e.added), o.newer, o.entry",
        params,
    )
    return [_replacement(row) for row in rows]


def groups_of(reader: Reader, seqs: Sequence[int]) -> set[Group]:
    """The subjects and slots that entries state something of."""
    groups = set[Group]()
    sql = "SELECT subject, slot FROM statement WHERE space = ? AND entry = ?"
    for seq in set(seqs):
        rows = reader.rows(sql, (reader.space, seq))
        groups |= {(str(row[0]), str(row[1])) for row in rows}
    return groups


def by_person(
    reader: SpaceReader, until: int | None = None, older: Sequence[int] | None = None
) -> list[Replacement]:
    """What a person said is superseded, of all entries or some, by what was known until then."""
    pairs = supersession.pairs(reader, reader.id, until, older)
    entry_of = entries.there(reader, [seq for pair in pairs for seq in pair])
    return [
        Replacement(before, after, "", BY_PERSON, PERSON, _as_newer(entry_of[after]))
        for before, after in pairs
    ]


def _as_newer(entry: Entry) -> Newer:
    return Newer(entry.id, short(entry.text.strip()), entry.at)


def _replacement(row: Row) -> Replacement:
    subject, slot, made_by = map(str, row[-3:])
    return Replacement(int(row[-4]), int(row[-5]), subject, slot, made_by, _newer(row[:-3]))


def rename(writer: Writer, space: int, source: str, new: str, seqs: Sequence[int]) -> None:
    """Let what a source states of itself be of its new name: a note's "I" is called after it."""
    storage.drop_filled(writer, "statement")
    old, new = source.casefold(), new.casefold()
    for table in ("statement", "superseded"):
        writer.many(
            f"UPDATE {table} SET subject = ? || substr(subject, CAST(? AS INTEGER))"
            " WHERE space = ? AND entry = ? AND (subject = ? OR instr(subject, ?) = 1)",
            ((new, len(old) + 1, space, seq, old, f"{old}'s ") for seq in seqs),
        )


def erase(writer: Writer, space: int, erased: Sequence[int]) -> int:
    """Drop the statements of entries; return how many went.

    What they had superseded holds again, unless another statement supersedes it.
    """
    groups, count = groups_of(writer, erased), 0
    for seq in erased:
        count += writer.execute("DELETE FROM statement WHERE space = ? AND entry = ?", (space, seq))
    for group in sorted(groups):
        decide(writer, space, group)
    for seq in erased:
        writer.execute(
            "DELETE FROM superseded WHERE space = ? AND (entry = ? OR newer = ?)", (space, seq, seq)
        )
    return count


def drop_rules(writer: Writer, space: int, seqs: Sequence[int]) -> set[Group]:
    """Drop what rules found in entries; return the groups to be decided again.

    Every rule's row that names one of the entries goes, with all rows of the same newer statement:
    ``decide`` writes only what is missing. A language model's verdicts stay: they were paid for.
    """
    groups, decided = groups_of(writer, seqs), set[tuple[str, str, int]]()
    for seq in seqs:
        writer.execute("DELETE FROM statement WHERE space = ? AND entry = ?", (space, seq))
        rows = writer.rows(
            "SELECT subject, slot, newer FROM superseded"
            " WHERE space = ? AND (entry = ? OR newer = ?) AND made_by = ?",
            (space, seq, seq, RULE),
        )
        decided |= {(str(row[0]), str(row[1]), int(row[2])) for row in rows}
    writer.many(
        "DELETE FROM superseded"
        " WHERE space = ? AND subject = ? AND slot = ? AND newer = ? AND made_by = ?",
        ((space, *triple, RULE) for triple in decided),
    )
    return groups | {(subject, slot) for subject, slot, _ in decided}


def _mentioning(
    reader: Reader, space: int, older: DatedStatement, newer: DatedStatement
) -> list[int]:
    """Entries by the older statement's speaker, before the newer one, that also name its value.

    Notes without a speaker count as one person's within a source.
    """
    name = older.statement.value
    if len(name) < MIN_NAME_CHARS:
        return []
    rows = reader.rows(
        "SELECT e.seq FROM entry e JOIN body b ON b.id = e.body"
        " JOIN entry o ON o.space = e.space AND o.seq = ? JOIN body p ON p.id = o.body"
        " WHERE e.space = ?"
        " AND (b.speaker = p.speaker"
        "  OR b.speaker IS NULL AND p.speaker IS NULL AND e.source = o.source)"
        " AND e.seq NOT IN (?, ?)"
        " AND (coalesce(e.at, e.added), e.seq) < (?, ?) AND instr(b.text, ?) > 0",
        (older.entry, space, older.entry, newer.entry, newer.at, newer.entry, name),
    )
    return [int(row[0]) for row in rows]


def _whole(reader: Reader, columns: str, where: str, params: Sequence[Value]) -> list[Row]:
    """Rows of what is superseded, after a check that the entries whose texts they show are whole.

    Raises EntryCorrupt, with the rows of those that are damaged.
    """
    own = (reader.space, *params)
    try:
        whole = list(reader.rows(f"SELECT {columns} {_OLDER} WHERE o.space = ? AND {where}", own))
    except JournalCorrupt:
        # Bytes that are no UTF-8 fail while a row is fetched, before it is known whose they are.
        ends = reader.rows(f"SELECT o.newer, o.entry {_OLDER} WHERE o.space = ? AND {where}", own)
        entries.there(reader, [int(seq) for pair in ends for seq in pair])
        raise
    entries.there(reader, [seq for row in whole for seq in (row[10], row[11])])
    return whole


def _newer(row: Row) -> Newer:
    _, entry_id, text, start, stop, at, older, first, last, value = row[:10]
    with damage.decoding(f"what entry {entry_id!r} supersedes"):
        is_known = older is not None and value is not None and not row[0]
        of = short(clause_with(str(older)[first:last], str(value))) if is_known else None
        when = entries.moment(at) if at is not None else None
        whole = of is None or of == str(older).strip()
        return Newer(str(entry_id), short(str(text)[start:stop]), when, None if whole else of)


def clause_with(sentence: str, value: str) -> str:
    """The part of a sentence that gives a value, where it says other things, too.

    The sentence, where two parts name the value: "I live in Oslo, but Oslo is loud."
    """
    if not value or len(clauses(sentence)) < 2:
        return sentence
    whole = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE)
    parts = [part for part in _JOINT.split(sentence) if whole.search(part)]
    return parts[0] if len(parts) == 1 else sentence


def short(text: str) -> str:
    """A statement as it is shown beside the one that it supersedes."""
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
