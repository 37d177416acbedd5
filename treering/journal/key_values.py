"""What entries have under a key of their metadata, for filters that many searches share."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from treering.arrays import Codes
from treering.journal.contract import Reader, Row, Value


@dataclass(frozen=True, slots=True)
class KeyValues:
    """What some entries have under a key of their metadata: kinds and values as the database gives
    them, the entries that have one, shape (n,), and the place of its value for each.

    The entries' metadata are so many ``texts``, or at most so many.
    """

    values: list[tuple[str, Value]]
    holders: Codes
    places: Codes
    texts: int


def between(
    reader: Reader, space: int, key: str, first: int, last: int, *, alike: bool
) -> KeyValues:
    """What the entries from one sequence number to another have under a key of their metadata.

    The database says what a value is, as in a filter. Where entries are ``alike``, many have the
    same metadata: then it takes each text apart once, in half the time. To sort texts that are all
    different takes twice as long.
    """
    if not alike:
        return _by_entry(reader, key, "e.seq BETWEEN ? AND ?", (space, first, last))
    rows = reader.rows(
        f"SELECT {reader.dialect.kind_and_value('m')}, {reader.dialect.joined('g.seqs')}, count(*)"
        f" FROM (SELECT b.metadata AS said, {reader.dialect.joined('e.seq')} AS seqs"
        " FROM entry e JOIN body b ON b.id = e.body"
        " WHERE e.space = ? AND e.seq BETWEEN ? AND ? GROUP BY b.metadata) g,"
        f" {reader.dialect.members('g.said', 'm')} WHERE m.key = ? GROUP BY 1, 2",
        (space, first, last, key),
    )
    return _key_values(rows)


def of_entries(reader: Reader, space: int, key: str, seqs: Collection[int]) -> KeyValues:
    """What some entries have under a key of their metadata."""
    listed = json.dumps(list(seqs))
    condition = "e.seq IN (SELECT value FROM json_each(?))"
    return _by_entry(reader, key, condition, (space, listed))


def _by_entry(reader: Reader, key: str, condition: str, params: Sequence[Value]) -> KeyValues:
    rows = reader.rows(
        f"SELECT {reader.dialect.kind_and_value('m')}, {reader.dialect.joined('e.seq')}, count(*)"
        f" FROM entry e JOIN body b ON b.id = e.body, {reader.dialect.members('b.metadata', 'm')}"
        f" WHERE e.space = ? AND {condition} AND m.key = ? GROUP BY 1, 2",
        (*params, key),
    )
    return _key_values(rows)


def _key_values(rows: Iterable[Row]) -> KeyValues:
    values: list[tuple[str, Value]] = []
    seqs: list[str] = []
    texts = 0
    for kind, value, of_value, count in rows:
        values.append((str(kind), value))
        seqs.append(of_value)
        texts += count
    # One list of all: there may be as many values as entries.
    holders = np.fromstring(",".join(seqs), np.int64, sep=",") if seqs else np.zeros(0, np.int64)
    sizes = [of_value.count(",") + 1 for of_value in seqs]
    return KeyValues(values, holders, np.repeat(np.arange(len(values)), sizes), texts)
