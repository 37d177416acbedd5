"""Replies to requests that carried an idempotency key, so that a repeated one is not done twice.

Neither the key nor the request is kept: the row is found by the key's digest, and the request's is
keyed with it, so that nobody can try texts against it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from treering.errors import InputError
from treering.journal import entries
from treering.journal.contract import Database, Writer
from treering.journal.space import SpaceWriter

KEPT = timedelta(days=7)
"""Far longer than any client tries again."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that was given. ``body`` is None once something it may quote was forgotten."""

    status: int
    body: bytes | None


def find(database: Database, space: str, key: str, request: bytes) -> Reply | None:
    """The reply to a request of that key. Raises InputError if the key came with another one."""
    with database.read() as reader:
        row = reader.row(
            "SELECT r.request, r.status, r.body FROM reply r JOIN space s ON s.id = r.space"
            " WHERE s.name = ? AND r.key = ?",
            (space, _digest(key)),
        )
    if row is None:
        return None
    if not hmac.compare_digest(bytes(row[0]), _mac(key, request)):
        raise InputError("this idempotency key was sent with another request; use a new key")
    return Reply(int(row[1]), None if row[2] is None else bytes(row[2]))


def keep(
    database: Database, space: str, key: str, request: bytes, reply: Reply, *, quotes: bool
) -> None:
    """Keep the reply to a request; ``quotes`` tells whether it may hold text of entries."""
    now = datetime.now(UTC)
    with database.write() as writer:
        writer.execute("DELETE FROM reply WHERE at < ?", (entries.micros(now - KEPT),))
        writer.execute(
            "INSERT INTO reply (space, key, request, status, body, quotes, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                SpaceWriter(writer, space).id,
                _digest(key),
                _mac(key, request),
                reply.status,
                reply.body,
                int(quotes),
                entries.micros(now),
            ),
        )


def erase(writer: Writer, space: int, seqs: Sequence[int]) -> None:
    """Drop what kept replies may quote of entries; that they were given stays known."""
    if seqs:
        writer.execute("UPDATE reply SET body = NULL WHERE space = ? AND quotes", (space,))


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _mac(key: str, request: bytes) -> bytes:
    return hmac.digest(key.encode("utf-8", "surrogateescape"), request, "sha256")
