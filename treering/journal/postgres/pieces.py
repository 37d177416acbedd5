"""Large values in pieces: one row for so many bytes, so that a patch writes little.

PostgreSQL rewrites and logs a whole value when a part of it changes. Storing a turn changes some
hundred bytes of values of megabytes. So such a value is in several rows, numbered from 0, which are
all full except the last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import psycopg
from psycopg.rows import TupleRow

from treering.journal import damage
from treering.journal.contract import Patch, RowKey

PgConnection = psycopg.Connection[TupleRow]

PIECE: Final = 2_000
"""Bytes of a piece: four fill a page, and none is moved out of its row."""


def allot(connection: PgConnection, table: str, size: int, space: int, identity: int | None) -> int:
    """Create a value of zeros; without an ``identity`` it gets the next one."""
    if identity is None:
        row = connection.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id'))", (table,)
        ).fetchone()
        assert row is not None  # a SELECT without a table has one row
        identity = int(row[0])
    connection.execute(
        f"INSERT INTO {table} (space, id, piece, data)"
        " SELECT %s, %s, n,"
        f" decode(repeat('00', least({PIECE}, CAST(%s - n * {PIECE} AS INT))), 'hex')"
        f" FROM generate_series(0, (greatest(%s, 1) - 1) / {PIECE}) AS n",
        (space, identity, size, size),
    )
    return identity


def extent(connection: PgConnection, table: str, key: RowKey) -> int | None:
    """How many bytes a value has; None if it is missing."""
    row = connection.execute(
        f"SELECT CAST(sum(length(data)) AS BIGINT) FROM {table} WHERE space = %s AND id = %s", key
    ).fetchone()
    return None if row is None or row[0] is None else int(row[0])


def part(connection: PgConnection, table: str, key: RowKey, start: int, size: int) -> bytes:
    """Some bytes of a value, or as many as it has there; none if it is missing."""
    first = start // PIECE
    row = connection.execute(
        f"SELECT string_agg(data, CAST('' AS BYTEA) ORDER BY piece) FROM {table}"
        " WHERE space = %s AND id = %s AND piece BETWEEN %s AND %s",
        (*key, first, (start + max(size, 1) - 1) // PIECE),
        binary=True,
    ).fetchone()
    data = b"" if row is None or row[0] is None else bytes(row[0])
    begin = start - first * PIECE
    return data[begin : begin + size]


def patch(connection: PgConnection, table: str, key: RowKey, patches: Sequence[Patch]) -> None:
    """Overwrite parts of a value; only the pieces that they are in are written.

    Raises JournalCorrupt if it is missing or too short.
    """
    by_piece = _by_piece(patches)
    rows = connection.execute(
        f"SELECT piece, data FROM {table} WHERE space = %s AND id = %s AND piece = ANY (%s)",
        (*key, list(by_piece)),
        binary=True,
    )
    pieces = {int(row[0]): bytearray(row[1]) for row in rows}
    with damage.decoding("the search index"):
        for number, parts in by_piece.items():
            for start, data in parts:
                if number not in pieces or start + len(data) > len(pieces[number]):
                    raise ValueError("a value is missing, or too short to be written to")
                pieces[number][start : start + len(data)] = data
    changed: list[Any] = [list(pieces), [bytes(piece) for piece in pieces.values()]]
    connection.execute(
        f"UPDATE {table} SET data = n.data FROM unnest(CAST(%s AS BIGINT[]), CAST(%s AS BYTEA[]))"
        f" AS n (piece, data)"
        f" WHERE {table}.space = %s AND {table}.id = %s AND {table}.piece = n.piece",
        (*changed, *key),
        binary=True,
    )


def _by_piece(patches: Sequence[Patch]) -> dict[int, list[Patch]]:
    """The patches of each piece, with places that count from its first byte."""
    by_piece: defaultdict[int, list[Patch]] = defaultdict(list)
    for place, whole in patches:
        start, data = place, memoryview(whole)
        while len(data):
            number, offset = divmod(start, PIECE)
            fitting = bytes(data[: PIECE - offset])
            by_piece[number].append((offset, fitting))
            start, data = start + len(fitting), data[len(fitting) :]
    return by_piece
