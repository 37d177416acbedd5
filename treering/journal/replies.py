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
from treering.journal.contract import Reader, Writer

KEPT = timedelta(days=7)
"""Replies are kept for this long; no client retries after so many days."""


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply that was given. ``body`` is None once something it may quote was forgotten."""

    status: int
    body: bytes | None


def find(reader: Reader, space: int, key: bytes, request: bytes) -> StoredReply | None:
    """The reply to a request, both given by digest and ``mac`` of the key.

    Raises InputError if the key came with another request.
    """
    row = reader.row(
        "SELECT request, status, body FROM reply WHERE space = ? AND key = ?",
        (space, key),
    )
    if row is None:
        return None
    refuse_another(bytes(row[0]), request)
    return StoredReply(int(row[1]), None if row[2] is None else bytes(row[2]))


def refuse_another(first: bytes, request: bytes) -> None:
    """Raise InputError unless both are the ``mac`` of the same request."""
    if not hmac.compare_digest(first, request):
        raise InputError("this idempotency key was sent with another request; use a new key")


def keep(
    writer: Writer, space: int, key: bytes, request: bytes, reply: StoredReply, *, quotes: bool
) -> None:
    """Keep the reply to a request; ``quotes`` tells whether it may hold text of entries."""
    now = datetime.now(UTC)
    expired = entries.micros(now - KEPT)
    writer.execute("DELETE FROM reply WHERE space = ? AND at < ?", (space, expired))
    writer.execute(
        "INSERT INTO reply (space, key, request, status, body, quotes, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (space, key, request, reply.status, reply.body, quotes, entries.micros(now)),
    )


def change(writer: Writer, space: int, key: bytes, reply: StoredReply) -> None:
    """Put another reply in the place of one that was kept, unless its body was dropped."""
    writer.execute(
        "UPDATE reply SET status = ?, body = ? WHERE space = ? AND key = ? AND body IS NOT NULL",
        (reply.status, reply.body, space, key),
    )


def erase(writer: Writer, space: int, seqs: Sequence[int]) -> None:
    """Drop the bodies of replies that may quote entries; the replies still count as given."""
    if seqs:
        writer.execute("UPDATE reply SET body = NULL WHERE space = ? AND quotes", (space,))


def digest(key: str) -> bytes:
    """The digest that a key is looked up by."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def mac(key: str, request: bytes) -> bytes:
    """The keyed digest that tells the requests of one key apart."""
    return hmac.digest(key.encode("utf-8", "surrogateescape"), request, "sha256")
