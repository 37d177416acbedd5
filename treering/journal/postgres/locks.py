"""The advisory locks of a schema: of its writers, and of work that one process does at a time.

PostgreSQL frees them with the transaction or the connection that holds them, however that ends.
"""

from __future__ import annotations

import hashlib
from typing import Final

_BYTES: Final = 7  # of a digest: the numbers are below zero, where no process' presence is


class Locks:
    """The locks of one schema, as statements that take them until the transaction ends."""

    def __init__(self, schema: str) -> None:
        self._schema = schema
        # Versions before 22 had this lock alone: where one still runs, its writers are kept out.
        self._whole = _number(f"treering:{schema}")
        self.for_shared_rows = f"SELECT pg_advisory_xact_lock({self._number('shared rows')})"

    def for_writer_of(self, space: str | None) -> str:
        """Keeps the other writers of a space out, or without a name those of all spaces."""
        if space is None:
            return f"SELECT pg_advisory_xact_lock({self._whole})"
        return (
            f"SELECT pg_advisory_xact_lock_shared({self._whole});"
            f" SELECT pg_advisory_xact_lock({self._number('space', space)})"
        )

    def of_task(self, name: str) -> int:
        """The number of the lock of a piece of work."""
        return self._number("task", name)

    def _number(self, *parts: str) -> int:
        return _number("\0".join(("treering", self._schema, *parts)))


def _number(name: str) -> int:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return -int.from_bytes(digest[:_BYTES]) - 1
