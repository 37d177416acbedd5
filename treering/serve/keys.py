"""API keys: made, stored as digests in the memory's file, and looked up.

A key is 256 random bits, too many to guess from its SHA-256: a slow password hash would only cost
time.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from treering.errors import InputError, UnknownName
from treering.journal import damage
from treering.journal.contract import Database, Reader
from treering.journal.entries import micros, moment
from treering.journal.fields import checked_name

PREFIX = "tr_"
"""Lets people and scanners for leaked secrets recognise a key."""

KEY_BYTES = 32
ID_CHARS = 8  # of the digest in hexadecimal: they name a key and do not reveal it


@dataclass(frozen=True, slots=True)
class Key:
    """The stored data of a key, without its text."""

    id: str
    space: str
    label: str | None
    created: datetime


def digest(key: str) -> bytes:
    """Return the digest of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def add(database: Database, space: str, label: str | None = None) -> tuple[str, Key]:
    """Make a key for a space, and return its text, which is not stored. Raise InputError."""
    name = checked_name(space, "space") or ""
    checked_name(label, "label")
    text = PREFIX + secrets.token_urlsafe(KEY_BYTES)
    key_digest = digest(text)
    key = Key(key_digest.hex()[:ID_CHARS], name, label, datetime.now(UTC))
    with database.write() as writer:
        writer.execute(
            "INSERT INTO serve_key (id, digest, space, label, created) VALUES (?, ?, ?, ?, ?)",
            (key.id, key_digest, name, label, micros(key.created)),
        )
        if not _is_closed(writer):
            writer.execute("INSERT INTO serve_closed (since) VALUES (?)", (micros(key.created),))
    return text, key


def is_closed(database: Database) -> bool:
    """Return whether callers need a key: one was made, and ``open_again`` was not called since."""
    with database.read() as reader:
        return _is_closed(reader)


def open_again(database: Database) -> None:
    """Answer all callers on this machine without a key. Raise InputError while there is a key."""
    with database.write() as writer:
        row = writer.row("SELECT count(*) FROM serve_key")
        if row is not None and row[0]:
            keys = "1 key still opens" if row[0] == 1 else f"{row[0]:,} keys still open"
            which = "it" if row[0] == 1 else "them"
            raise InputError(
                f"{keys} spaces of this memory; remove {which} first, "
                "with `treering serve key remove ID`"
            )
        writer.execute("DELETE FROM serve_closed")


def _is_closed(reader: Reader) -> bool:
    return reader.row("SELECT 1 FROM serve_closed") is not None


def remove(database: Database, identity: str) -> None:
    """Revoke a key. Raise UnknownName."""
    with database.write() as writer:
        if not writer.execute("DELETE FROM serve_key WHERE id = ?", (identity,)):
            raise UnknownName(f"no key {identity!r}; `treering serve key` shows the ids")


def list_keys(database: Database) -> list[Key]:
    """Return the keys, oldest first."""
    with database.read() as reader:
        rows = list(reader.rows("SELECT id, space, label, created FROM serve_key ORDER BY created"))
    with damage.decoding("the keys"):
        return [Key(str(row[0]), str(row[1]), row[2], moment(int(row[3]))) for row in rows]


def spaces_by_digest(database: Database) -> dict[bytes, tuple[str, str]]:
    """Return the space and id of every key, by its digest."""
    with database.read() as reader:
        rows = reader.rows("SELECT digest, space, id FROM serve_key")
        return {bytes(row[0]): (str(row[1]), str(row[2])) for row in rows}
