"""Tombstones: digests of the ids of erased entries, so that no import brings these back.

The messages of a transcript have the same ids whenever they are read. A digest is keyed by random
bytes of the space, and says nothing of the text. A space that got tombstones from an export has
their keys, too.

Tombstones belong to the name of a space, as a digest keyed by the secret of the database. So they
outlive the space, and a new space of that name has them.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from treering.journal.entries import PAGE
from treering.journal.space import SpaceReader, SpaceWriter

log = logging.getLogger("treering")

BYTES: Final = 16
"""Of a digest and of a key: no two ids share a digest by chance, and a key cannot be guessed."""

OWNER_BYTES: Final = 8
"""An integer of the database has these. Two names that share a digest keep different ids away."""

MAX_KEYS: Final = 16
"""Of a space: a slice of an import computes its digests with each of them, and others wait."""


class Tombstone(NamedTuple):
    """The digest of an erased entry's id, and the key that it was made with."""

    key: bytes
    digest: bytes


def put(writer: SpaceWriter, ids: Iterable[str]) -> None:
    """Keep imports from bringing entries back."""
    owner = _owner(writer)
    key = next(_keys(writer, owner), None) or secrets.token_bytes(BYTES)
    _insert(writer, owner, (Tombstone(key, _digest(key, entry)) for entry in ids))


def add(writer: SpaceWriter, tombstones: Collection[Tombstone]) -> None:
    """Add the tombstones of an export."""
    owner = _owner(writer)
    keys = set(_keys(writer, owner))
    others = sorted({tombstone.key for tombstone in tombstones} - keys)
    keys.update(others[: MAX_KEYS - len(keys)])
    _insert(writer, owner, (tombstone for tombstone in tombstones if tombstone.key in keys))
    if not keys.issuperset(others):
        log.warning(
            "%d other spaces forgot entries that are in exports; a space takes over at most %d",
            len(others),
            MAX_KEYS,
        )


def _insert(writer: SpaceWriter, owner: int, tombstones: Iterable[Tombstone]) -> None:
    writer.many(
        "INSERT INTO tombstone (owner, key, digest) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        ((owner, *tombstone) for tombstone in tombstones),
    )


def erased_among(reader: SpaceReader, ids: Collection[str]) -> set[str]:
    """Return those of some ids whose entries were erased."""
    owner = _owner(reader)
    erased: set[str] = set()
    for key in _keys(reader, owner):
        id_by_digest = {_digest(key, entry): entry for entry in ids}
        digests = list(id_by_digest)
        for start in range(0, len(digests), PAGE):
            chunk = digests[start : start + PAGE]
            rows = reader.rows(
                "SELECT digest FROM tombstone WHERE owner = ? AND key = ?"
                f" AND digest IN ({', '.join('?' * len(chunk))})",
                (owner, key, *chunk),
            )
            erased.update(id_by_digest[bytes(row[0])] for row in rows)
    return erased


def drop(writer: SpaceWriter, ids: Collection[str]) -> None:
    """Let imports bring entries back."""
    owner = _owner(writer)
    writer.many(
        "DELETE FROM tombstone WHERE owner = ? AND key = ? AND digest = ?",
        [(owner, key, _digest(key, entry)) for key in _keys(writer, owner) for entry in ids],
    )


def of_space(reader: SpaceReader) -> Iterator[Tombstone]:
    """Iterate over the tombstones of a space."""
    rows = reader.rows(
        "SELECT key, digest FROM tombstone WHERE owner = ? ORDER BY key, digest",
        (_owner(reader),),
    )
    return (Tombstone(bytes(key), bytes(digest)) for key, digest in rows)


def _owner(reader: SpaceReader) -> int:
    """Return the digest of the name of a space."""
    key = reader.state.secret
    digest = hashlib.blake2b(reader.name.encode(), key=key, digest_size=OWNER_BYTES)
    return int.from_bytes(digest.digest(), "big", signed=True)


def _keys(reader: SpaceReader, owner: int) -> Iterator[bytes]:
    """Iterate over the keys of a space; each costs one look into the index."""
    key = b""
    while row := reader.row(
        "SELECT key FROM tombstone WHERE owner = ? AND key > ? ORDER BY key LIMIT 1", (owner, key)
    ):
        yield (key := bytes(row[0]))


def _digest(key: bytes, entry: str) -> bytes:
    # A third of the time of an HMAC.
    return hashlib.blake2b(entry.encode(), key=key, digest_size=BYTES).digest()
