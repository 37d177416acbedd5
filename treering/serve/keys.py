"""API keys: made, kept as digests in the memory's file, and looked up.

A key is 256 random bits, so that its SHA-256 cannot be searched for: a slow password hash would
protect nothing more and cost every request.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from treering.errors import UnknownName
from treering.ingest.drafts import checked_name
from treering.journal import damage
from treering.journal.contract import Database
from treering.journal.entries import micros, moment

PREFIX = "tr_"
"""Lets scanners for leaked secrets, and people, tell what such a text is."""

KEY_BYTES = 32
ID_CHARS = 8  # of the digest in hexadecimal: names a key without giving it away


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key, which cannot be told from it."""

    id: str
    space: str
    label: str | None
    created: datetime


def digest(key: str) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def add(database: Database, space: str, label: str | None = None) -> tuple[str, Key]:
    """Make a key for a space; its text is returned this once. Raises InputError."""
    name = checked_name(space, "space") or ""
    checked_name(label, "label")
    text = PREFIX + secrets.token_urlsafe(KEY_BYTES)
    found = digest(text)
    key = Key(found.hex()[:ID_CHARS], name, label, datetime.now(UTC))
    with database.write() as writer:
        writer.execute(
            "INSERT INTO serve_key (id, digest, space, label, created) VALUES (?, ?, ?, ?, ?)",
            (key.id, found, name, label, micros(key.created)),
        )
    return text, key


def remove(database: Database, identity: str) -> None:
    """Make a key worthless. Raises UnknownName."""
    with database.write() as writer:
        if not writer.execute("DELETE FROM serve_key WHERE id = ?", (identity,)):
            raise UnknownName(f"no key {identity!r}; `treering serve key list` shows the ids")


def known(database: Database) -> list[Key]:
    """The keys there are, oldest first."""
    with database.read() as reader:
        rows = list(reader.rows("SELECT id, space, label, created FROM serve_key ORDER BY created"))
    with damage.decoding("the keys"):
        return [Key(str(row[0]), str(row[1]), row[2], moment(int(row[3]))) for row in rows]


def spaces_by_digest(database: Database) -> dict[bytes, tuple[str, str]]:
    """The space and id of every key, by its digest."""
    with database.read() as reader:
        rows = reader.rows("SELECT digest, space, id FROM serve_key")
        return {bytes(row[0]): (str(row[1]), str(row[2])) for row in rows}
