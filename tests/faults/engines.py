"""A memory on each engine, with all that it stores, as bytes."""

from __future__ import annotations

import struct
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.postgres_server import empty_memory, server_url

END_MS = 30_000
PAGE_BYTES, HEADER_BYTES = 8192, 24
WITH_ROW = (1, 3)
"""Kinds of line pointers: those of rows and of dead rows. Free room has none."""

UNCOMPRESSED = """
    SELECT format('ALTER TABLE %I.%I ALTER %I SET STORAGE EXTERNAL', table_schema, table_name,
        column_name)
    FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'own' AND data_type IN ('text', 'bytea') AND table_type = 'BASE TABLE'
"""
FILES = """
    SELECT pg_read_binary_file(pg_relation_filepath(oid)) FROM pg_class
    WHERE pg_relation_filepath(oid) IS NOT NULL AND NOT relisshared
"""
BACKENDS = """
    SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Files(AbstractContextManager["Files"]):
    """A memory in a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = str(folder / "life.db")

    def end_work(self) -> None:
        """Nothing works on for a process that was killed."""

    def stored(self) -> bytes:
        """Return all files of the memory's folder."""
        return b"".join(path.read_bytes() for path in self._folder.iterdir())

    def __exit__(self, *_: object) -> None:
        """Its folder is removed with the test."""


class Server(AbstractContextManager["Server"]):
    """A memory in a PostgreSQL database of its own."""

    def __init__(self, _: Path) -> None:
        self._stack = ExitStack()
        self.url = self._stack.enter_context(empty_memory())
        location = server_url().replace("/postgres?", f"{urlsplit(self.url).path}?")
        self._superuser = psycopg.connect(location, autocommit=True)
        self._stack.enter_context(closing(self._superuser))
        for (statement,) in self._superuser.execute(UNCOMPRESSED).fetchall():
            self._superuser.execute(statement)  # or words would not be found in the files

    def end_work(self) -> None:
        """End what the server still does for a process that was killed."""
        self._superuser.execute(BACKENDS, (END_MS,))

    def stored(self) -> bytes:
        """Return all rows, dead or alive, of tables, indexes, TOAST and catalogs; statistics."""
        self._superuser.execute("ANALYZE")
        self._superuser.execute("CHECKPOINT")
        files = self._superuser.cursor(binary=True).execute(FILES)
        found = b"".join(_rows(bytes(data)) for (data,) in files)
        statistics = self._superuser.execute("SELECT CAST(s AS TEXT) FROM pg_stats s").fetchall()
        return found + str(statistics).encode()

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _rows(data: bytes) -> bytes:
    """Return what line pointers point at on the pages of a table or an index."""
    found = []
    for page in range(0, len(data), PAGE_BYTES):
        (lower,) = struct.unpack_from("<H", data, page + 12)
        count = max(lower - HEADER_BYTES, 0) // 4
        for pointer in struct.unpack_from(f"<{count}I", data, page + HEADER_BYTES):
            if pointer >> 15 & 3 in WITH_ROW:
                start = page + (pointer & 0x7FFF)
                found.append(data[start : start + (pointer >> 17)])
    return b"".join(found)
