"""API keys: made, stored as digests in the memory's file, and looked up.

A key is 256 random bits, too many to guess from its SHA-256: a slow password hash would only cost
time. A key has one row for each space, or pattern of spaces, that it opens.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from treering.errors import InputError, UnknownName
from treering.journal import damage
from treering.journal.contract import Database, Reader, Writer
from treering.journal.entries import micros, moment
from treering.journal.fields import checked_name, parse_time, required_name
from treering.records import When
from treering.serve.roles import Caller, Grant, parse_roles

PREFIX = "tr_"
"""Lets people and scanners for leaked secrets recognise a key."""

KEY_BYTES = 32
ID_CHARS = 8  # of the digest in hexadecimal: they name a key and do not reveal it

GRACE: Final = timedelta(days=1)
"""How long a key stays valid once another has taken its place: time to bring that to its users."""

_COLUMNS: Final = "id, space, roles, label, created, expires, used"


@dataclass(frozen=True, slots=True)
class Key:
    """The stored data of a key for one space or pattern, without its text."""

    id: str
    space: str
    roles: tuple[str, ...]
    label: str | None
    created: datetime
    expires: datetime | None
    used: datetime | None


def digest(key: str) -> bytes:
    """Return the digest of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def add(
    database: Database,
    space: str,
    label: str | None = None,
    roles: Collection[str] = ("full",),
    expires: When = None,
) -> tuple[str, Key]:
    """Make a key for a space, and return its text, which is not stored. Raise InputError."""
    name = required_name(space, "space")
    now = datetime.now(UTC)
    until = None if expires is None else parse_time(expires, "expires")
    if until is not None and until <= now:
        raise InputError(f"expires is {until}, which is past; give a time to come", param="expires")
    text = PREFIX + secrets.token_urlsafe(KEY_BYTES)
    held = tuple(sorted(parse_roles(roles)))
    key = Key(_id(text), name, held, checked_name(label, "label"), now, until, None)
    with database.write() as writer:
        _insert(writer, text, key)
        if writer.row("SELECT 1 FROM serve_closed") is None:
            writer.execute("INSERT INTO serve_closed (since) VALUES (?)", (micros(now),))
    return text, key


def extend(database: Database, identity: str, space: str, roles: Collection[str]) -> Key:
    """Let a key open another space, or with other roles. Raise UnknownName, InputError."""
    name = required_name(space, "space")
    held = " ".join(sorted(parse_roles(roles)))
    with database.write() as writer:
        _rows_of(writer, identity)
        writer.execute(
            "INSERT INTO serve_key (digest, id, space, roles, label, created, expires, used)"
            " SELECT digest, id, ?, ?, label, ?, expires, used FROM serve_key WHERE id = ? LIMIT 1"
            " ON CONFLICT (id, space) DO UPDATE SET roles = excluded.roles",
            (name, held, micros(datetime.now(UTC)), identity),
        )
        return next(key for key in _rows_of(writer, identity) if key.space == name)


def rotate(database: Database, identity: str) -> tuple[str, Key]:
    """Make a key for the spaces of another one, which stays valid for ``GRACE``.

    The new one is valid for as long as the other one was. Raise UnknownName.
    """
    now, text = datetime.now(UTC), PREFIX + secrets.token_urlsafe(KEY_BYTES)
    end = micros(now + GRACE)
    with database.write() as writer:
        old = _rows_of(writer, identity)
        expires = old[0].expires and now + (old[0].expires - old[0].created)
        writer.execute(
            "UPDATE serve_key SET expires = ? WHERE id = ? AND coalesce(expires, ?) >= ?",
            (end, identity, end, end),
        )
        for place, key in enumerate(old):  # the first space stays the first
            created = now + timedelta(microseconds=place)
            new = replace(key, id=_id(text), created=created, expires=expires, used=None)
            _insert(writer, text, new)
    return text, replace(old[0], id=_id(text), created=now, expires=expires, used=None)


def open_again(database: Database) -> None:
    """Answer all callers on this machine without a key. Raise InputError while there is a key."""
    with database.write() as writer:
        row = writer.row("SELECT count(DISTINCT id) FROM serve_key")
        if row is not None and row[0]:
            keys = "1 key still opens" if row[0] == 1 else f"{row[0]:,} keys still open"
            which = "it" if row[0] == 1 else "them"
            raise InputError(
                f"{keys} spaces of this memory; remove {which} first, "
                "with `treering serve key --remove ID`"
            )
        writer.execute("DELETE FROM serve_closed")


def remove(database: Database, identity: str) -> None:
    """Revoke a key. Raise UnknownName."""
    with database.write() as writer:
        _rows_of(writer, identity)
        writer.execute("DELETE FROM serve_key WHERE id = ?", (identity,))


def list_keys(database: Database) -> list[Key]:
    """Return the rows of all keys, oldest first."""
    with database.read() as reader:
        return _rows(reader)


def note_uses(database: Database, uses: Mapping[str, int]) -> None:
    """Keep when each key was used last, in microseconds since 1970, by its id."""
    if uses:
        with database.write() as writer:
            for identity, at in uses.items():
                writer.execute("UPDATE serve_key SET used = ? WHERE id = ?", (at, identity))


def keys_by_digest(database: Database) -> tuple[dict[bytes, tuple[Caller, int | None]], bool]:
    """Return the holder of every key by its digest, and when it ends in microseconds since 1970.

    The flag says whether callers need a key: one was made, and ``open_again`` was not called since.
    """
    callers: dict[bytes, tuple[Caller, int | None]] = {}
    with database.read() as reader:
        is_closed = reader.row("SELECT 1 FROM serve_closed") is not None
        for held, identity, space, roles, expires in reader.rows(
            "SELECT digest, id, space, roles, expires FROM serve_key ORDER BY created, space"
        ):
            caller, _ = callers.get(bytes(held), (Caller(str(identity), ()), None))
            grant = Grant(str(space), frozenset(str(roles).split()))
            callers[bytes(held)] = replace(caller, grants=(*caller.grants, grant)), expires
    return callers, is_closed


def _id(text: str) -> str:
    return digest(text).hex()[:ID_CHARS]


def _insert(writer: Writer, text: str, key: Key) -> None:
    writer.execute(
        "INSERT INTO serve_key (digest, id, space, roles, label, created, expires)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(digest(text), key.id, key.space, " ".join(key.roles), key.label),
            *(micros(key.created), None if key.expires is None else micros(key.expires)),
        ),
    )


def _rows(reader: Reader) -> list[Key]:
    rows = list(reader.rows(f"SELECT {_COLUMNS} FROM serve_key ORDER BY created, space"))
    with damage.decoding("the keys"):
        return [
            Key(
                *(str(row[0]), str(row[1]), tuple(row[2].split()), row[3], moment(int(row[4]))),
                *(None if time is None else moment(int(time)) for time in row[5:7]),
            )
            for row in rows
        ]


def _rows_of(reader: Reader, identity: str) -> list[Key]:
    """Return the rows of a key. Raise UnknownName."""
    rows = [key for key in _rows(reader) if key.id == identity]
    if not rows:
        raise UnknownName(f"no key {identity!r}; `treering serve key` shows the ids")
    return rows
