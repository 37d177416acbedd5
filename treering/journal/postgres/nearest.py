"""Nearest neighbours by an index of pgvector, for spaces that do not fit in main memory.

The table ``nearest`` has a row for each vector, in half precision, and an HNSW index for each space
and model. It is created when a space first needs it, because only this needs the extension. A row
is deleted with its vector by a foreign key. Vectors are numbered in the order of time: the table
has all vectors up to its highest number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
import psycopg
from psycopg.rows import TupleRow

from treering.arrays import Codes, Floats
from treering.errors import JournalError
from treering.journal.contract import Reader, Row

PgConnection = psycopg.Connection[TupleRow]

TABLE: Final = "nearest"

SMALL: Final = 64 << 20
"""Bytes of an index that a vacuum reads while a caller waits: those of some 50,000 vectors."""

MOST_DIMENSIONS: Final = 4_000
"""The limit of HNSW for half precision."""

EF_SEARCH: Final = 200
"""Neighbours that a search of the index keeps in view, at least: more neighbours find more."""

_PAIR: Final = np.dtype([("number", ">i8"), ("distance", ">f4")])

_ARRIVING: Final = "nearest_arriving"
"""A table of the connection, which new vectors pass through."""

OLDEST: Final = (0, 8)
"""The version of pgvector that goes on searching an index until enough is found."""

_EXTENSION: Final = """
    SELECT CAST(n.nspname AS TEXT), e.extversion
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'
"""
_WITHOUT_STATISTICS: Final = "SELECT treering_without_statistics()"
_SIZES: Final = """
    SELECT CAST(split_part(c.relname, '_', 2) AS BIGINT), sum(pg_relation_size(c.oid))
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = to_regclass('nearest') AND c.relname ~ '^nearest_[0-9]+_[0-9]+$'
    GROUP BY 1
"""
_INDEXED: Final = """
    SELECT CAST(n.nspname AS TEXT) FROM pg_index i, pg_extension e
    JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE i.indexrelid = to_regclass(?) AND i.indisvalid AND e.extname = 'vector'
"""


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """The index of a space and a model, with all vectors that are numbered up to ``mark``.

    ``kind`` is the type of its vectors, with the schema that the extension stands in.
    """

    space: int
    model: int
    mark: int
    kind: str


def open_index(reader: Reader, space: int, model: int) -> VectorIndex | None:
    """The index of a space and a model; None before there is one."""
    schema = reader.row(_INDEXED, (_index(space, model),))
    if schema is None:
        return None
    row = reader.row(
        "SELECT coalesce(max(number), 0) FROM nearest WHERE space = ? AND model = ?",
        (space, model),
    )
    return VectorIndex(space, model, int(row[0]) if row else 0, _type(str(schema[0])))


def neighbours(
    reader: Reader, index: VectorIndex, vector: Floats, limit: int
) -> tuple[Codes, Floats]:
    """The fragments whose vectors are nearest, nearest first, and their cosines."""
    ef = min(max(EF_SEARCH, limit), 1_000)  # the limit of the index; it continues as needed
    reader.row(
        "SELECT set_config('hnsw.ef_search', ?, true),"
        " set_config('hnsw.iterative_scan', 'strict_order', true)",
        (str(ef),),
    )
    distance = _distance(index.kind, len(vector))
    row = reader.row(
        f"SELECT string_agg(int8send(fragment) || float4send(CAST(distance AS REAL)), '')"
        f" FROM (SELECT fragment, {distance} AS distance FROM nearest"
        f" WHERE space = {index.space} AND model = {index.model}"
        f" ORDER BY {distance} LIMIT {limit}) AS nearby",
        (_text(vector), _text(vector)),
    )
    return _columns(row)


def cosines(
    reader: Reader, index: VectorIndex, numbers: Sequence[int], vector: Floats
) -> tuple[Codes, Floats]:
    """Of the vectors that are in the table: their numbers, ascending, and their cosines."""
    distance = _distance(index.kind, len(vector))
    row = reader.row(
        f"SELECT string_agg(int8send(number) || float4send(CAST({distance} AS REAL)), '')"
        f" FROM nearest WHERE space = {index.space}"
        " AND number IN (SELECT value FROM json_each(?))",
        (_text(vector), "[" + ",".join(map(str, numbers)) + "]"),
    )
    stored, column = _columns(row)
    order = np.argsort(stored)
    return stored[order], column[order]


def _columns(row: Row | None) -> tuple[Codes, Floats]:
    """Return numbers and cosines from all rows packed in one: to read thousands one by one takes
    longer than the database needs to find them.
    """
    data = b"" if row is None or row[0] is None else row[0]
    pairs = np.frombuffer(data, dtype=_PAIR)
    return pairs["number"].astype(np.int64), -pairs["distance"].astype(np.float32)


def _distance(kind: str, dimension: int) -> str:
    """The expression that the index is of: the negative product with a vector."""
    schema = kind.rpartition(".")[0]
    halves = f"{kind}({dimension})"
    return f"(CAST(half AS {halves}) OPERATOR({schema}.<#>) CAST(? AS {halves}))"


def _type(schema: str) -> str:
    return f'"{schema}".halfvec'


def _text(vector: Floats) -> str:
    return "[" + ",".join(map(repr, vector.tolist())) + "]"


_MISSING: Final = (
    "the space has more fragments than are held in memory, and the database lacks the extension "
    "pgvector, which finds the nearest of so many; let an administrator run CREATE EXTENSION "
    "vector, or give the URL a larger limit=…"
)


# ------------------------------------------------------------------------------------- erasing


def index_sizes(connection: PgConnection) -> dict[int, int]:
    """Return the bytes of the index of each space: a vacuum reads them to remove a vector.

    A call that erases waits for that if they are ``SMALL``. Larger indexes are vacuumed later, once
    for all vectors that were erased by then.
    """
    return {int(space): int(size) for space, size in connection.execute(_SIZES)}


# ------------------------------------------------------------------------------------- filling


def ensure_fits(dimension: int) -> None:
    """Raise JournalError for vectors that are too long for the index."""
    if dimension > MOST_DIMENSIONS:
        raise JournalError(
            f"vectors of {dimension} dimensions cannot be indexed, {MOST_DIMENSIONS} at most; give "
            "the URL a larger limit=…, or choose a smaller model with reembed()"
        )


@contextmanager
def fill_lock(connection: PgConnection, schema: str) -> Iterator[bool]:
    """Create the table, and exclude others from filling it; False if another process fills it.

    Raises JournalError if the extension is missing and cannot be created.
    """
    digest = hashlib.sha256(f"treering nearest:{schema}".encode()).digest()
    number = -int.from_bytes(digest[:7]) - 1
    taken = connection.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
    if taken is None or not taken[0]:
        yield False
        return
    try:
        connection.execute("SET statement_timeout = 0")  # an index of a million takes minutes
        connection.execute("SELECT set_config('treering.all', 'on', false)")
        _make_table(connection)
        yield True
    finally:
        if not connection.broken:
            connection.execute(f"DROP TABLE IF EXISTS pg_temp.{_ARRIVING}")
            connection.execute("RESET statement_timeout")
            connection.execute("SELECT set_config('treering.all', '', false)")
            connection.execute("SELECT pg_advisory_unlock(%s)", (number,))


def _make_table(connection: PgConnection) -> None:
    row = connection.execute(_EXTENSION).fetchone()
    if row is None:
        try:
            connection.execute("CREATE EXTENSION vector SCHEMA public")
        except psycopg.Error as error:
            raise JournalError(_MISSING) from error
        row = connection.execute(_EXTENSION).fetchone()
    assert row is not None  # it was made just now
    _refuse_old(str(row[1]))
    made = connection.execute("SELECT to_regclass('nearest') IS NOT NULL").fetchone()
    if made is not None and made[0]:
        return
    with connection.transaction():
        connection.execute(
            "CREATE TABLE nearest ("
            " space BIGINT NOT NULL REFERENCES space (id) DEFERRABLE, number BIGINT NOT NULL,"
            " model BIGINT NOT NULL REFERENCES model (id) DEFERRABLE,"
            f" fragment BIGINT NOT NULL, half {_type(str(row[0]))} NOT NULL,"
            " PRIMARY KEY (space, number), FOREIGN KEY (space, number)"
            " REFERENCES vector_data (space, id) ON DELETE CASCADE DEFERRABLE)"
            # The server must not analyze a new index before statistics leave it out.
            " WITH (autovacuum_analyze_threshold = 2147483647)"
        )
        connection.execute("CREATE INDEX nearest_by_number ON nearest (space, model, number)")
        connection.execute("SELECT treering_protect('nearest')")
        connection.execute(_WITHOUT_STATISTICS)


def _refuse_old(version: str) -> None:
    """Raise JournalError for a pgvector that is too old."""
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise JournalError(
            f"the extension pgvector of the database is {version}, and "
            f"{'.'.join(map(str, OLDEST))} or newer is needed to find the nearest of so many; let "
            "an administrator install it and run ALTER EXTENSION vector UPDATE, or give the URL a "
            "larger limit=…"
        )


def highest(connection: PgConnection, space: int, model: int) -> int:
    """The highest number of a vector in the table; 0 if it is empty."""
    row = connection.execute(
        "SELECT coalesce(max(number), 0) FROM nearest WHERE space = %s AND model = %s",
        (space, model),
    ).fetchone()
    return 0 if row is None else int(row[0])


def insert(
    connection: PgConnection,
    space: int,
    model: int,
    numbers: Sequence[int],
    fragments: Sequence[int],
    vectors: Floats,
) -> None:
    """Insert vectors into the table, except those that were erased meanwhile."""
    row = connection.execute(_EXTENSION).fetchone()
    kind = _type(str(row[0] if row else "public"))
    connection.execute(
        f"CREATE TEMP TABLE IF NOT EXISTS {_ARRIVING}"
        f" (number BIGINT NOT NULL, fragment BIGINT NOT NULL, half {kind} NOT NULL)"
    )
    with connection.transaction(), connection.cursor() as cursor:
        with cursor.copy(f"COPY {_ARRIVING} FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(_binary_rows(numbers, fragments, vectors))
        cursor.execute(
            "INSERT INTO nearest (number, space, model, fragment, half)"
            f" SELECT d.id, %s, %s, n.fragment, n.half FROM {_ARRIVING} n"
            " JOIN vector_data d ON d.space = %s AND d.id = n.number FOR KEY SHARE OF d"
            " ON CONFLICT DO NOTHING",
            (space, model, space),
        )
        cursor.execute(f"TRUNCATE {_ARRIVING}")


def _binary_rows(numbers: Sequence[int], fragments: Sequence[int], vectors: Floats) -> bytes:
    """Rows of number, fragment and half as COPY takes them in binary, big-endian.

    As texts, vectors would take ten times as long, here and in the server.
    """
    count, dimension = vectors.shape
    size = 4 + 2 * dimension
    rows = np.zeros(
        count,
        dtype=[
            *(("fields", ">i2"), ("number_size", ">i4"), ("number", ">i8")),
            *(("fragment_size", ">i4"), ("fragment", ">i8")),
            ("half_size", ">i4"),
            *(("dimension", ">i2"), ("unused", ">i2"), ("half", ">f2", (dimension,))),
        ],
    )
    rows["fields"] = 3
    rows["number_size"] = rows["fragment_size"] = 8
    rows["number"], rows["fragment"] = numbers, fragments
    rows["half_size"], rows["dimension"], rows["half"] = size, dimension, vectors
    return b"PGCOPY\n\xff\r\n\0" + bytes(8) + rows.tobytes() + b"\xff\xff"


def has_index(connection: PgConnection, space: int, model: int) -> bool:
    """Whether the index of a space and a model is there as a whole."""
    row = connection.execute(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)",
        (_index(space, model),),
    ).fetchone()
    return bool(row and row[0])


def make_index(connection: PgConnection, space: int, model: int, dimension: int) -> None:
    """Create the index of a space and a model; others read and write meanwhile."""
    name = _index(space, model)
    row = connection.execute(_EXTENSION).fetchone()
    kind = _type(str(row[0] if row else "public"))
    schema = kind.rpartition(".")[0]
    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")  # one that was not finished
    connection.execute(
        f"CREATE INDEX CONCURRENTLY {name} ON nearest USING hnsw"
        f" ((CAST(half AS {kind}({dimension}))) {schema}.halfvec_ip_ops)"
        f" WHERE space = {space} AND model = {model}"
    )
    connection.execute(_WITHOUT_STATISTICS)


def drop_others(connection: PgConnection, space: int, models: Sequence[int]) -> None:
    """Drop the indexes of models that a space no longer has."""
    names = [_index(space, model) for model in models]
    rows = connection.execute(
        "SELECT CAST(indexrelid AS regclass)::text FROM pg_index JOIN pg_class ON"
        " pg_class.oid = indexrelid WHERE indrelid = to_regclass('nearest')"
        " AND starts_with(relname, %s) AND NOT relname = ANY (%s)",
        (f"nearest_{space}_", names),
    ).fetchall()
    for (name,) in rows:
        connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def _index(space: int, model: int) -> str:
    return f"nearest_{space}_{model}"
