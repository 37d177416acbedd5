"""Tombstones: digests of the ids of erased entries, so that no import brings these back by itself.

The messages of a transcript have the same ids whenever they are read. A digest is keyed by random
bytes of the space, and says nothing of the text. A space that got tombstones from an export has
their keys, too.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from treering.journal.contract import Reader, Writer
from treering.journal.entries import PAGE

log = logging.getLogger("treering")

BYTES: Final = 16
"""Of a digest and of a key: no two ids share a digest by chance, and a key cannot be guessed."""

MAX_KEYS: Final = 16
"""Of a space: a slice of an import computes its digests with each of them, and others wait."""


class Tombstone(NamedTuple):
    """The digest of an erased entry's id, and the key that it was made with."""

    key: bytes
    digest: bytes


def put(writer: Writer, space: int, ids: Iterable[str]) -> None:
    """Keep imports from bringing entries back."""
    key = next(_keys(writer, space), None) or secrets.token_bytes(BYTES)
    _insert(writer, space, (Tombstone(key, _digest(key, entry)) for entry in ids))


def add(writer: Writer, space: int, tombstones: Collection[Tombstone]) -> None:
    """Add the tombstones of an export."""
    keys = set(_keys(writer, space))
    others = sorted({tombstone.key for tombstone in tombstones} - keys)
    keys.update(others[: MAX_KEYS - len(keys)])
    _insert(writer, space, (tombstone for tombstone in tombstones if tombstone.key in keys))
    if not keys.issuperset(others):
        log.warning(
            "%d other spaces forgot entries that are in exports; a space takes over at most %d",
            len(others),
            MAX_KEYS,
        )


def _insert(writer: Writer, space: int, tombstones: Iterable[Tombstone]) -> None:
    writer.many(
        "INSERT INTO tombstone (space, key, digest) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        ((space, *tombstone) for tombstone in tombstones),
    )


def erased_among(reader: Reader, space: int, ids: Collection[str]) -> set[str]:
    """Return those of some ids whose entries were erased."""
    erased: set[str] = set()
    for key in _keys(reader, space):
        id_by_digest = {_digest(key, entry): entry for entry in ids}
        digests = list(id_by_digest)
        for start in range(0, len(digests), PAGE):
            chunk = digests[start : start + PAGE]
            rows = reader.rows(
                "SELECT digest FROM tombstone WHERE space = ? AND key = ?"
                f" AND digest IN ({', '.join('?' * len(chunk))})",
                (space, key, *chunk),
            )
            erased.update(id_by_digest[bytes(row[0])] for row in rows)
    return erased


def drop(writer: Writer, space: int, ids: Collection[str]) -> None:
    """Let imports bring entries back."""
    writer.many(
        "DELETE FROM tombstone WHERE space = ? AND key = ? AND digest = ?",
        [(space, key, _digest(key, entry)) for key in _keys(writer, space) for entry in ids],
    )


def of_space(reader: Reader, space: int) -> Iterator[Tombstone]:
    """Iterate over the tombstones of a space."""
    rows = reader.rows(
        "SELECT key, digest FROM tombstone WHERE space = ? ORDER BY key, digest", (space,)
    )
    return (Tombstone(bytes(key), bytes(digest)) for key, digest in rows)


def _keys(reader: Reader, space: int) -> Iterator[bytes]:
    """Iterate over the keys of a space; each costs one look into the index."""
    key = b""
    while row := reader.row(
        "SELECT key FROM tombstone WHERE space = ? AND key > ? ORDER BY key LIMIT 1", (space, key)
    ):
        yield (key := bytes(row[0]))


def _digest(key: bytes, entry: str) -> bytes:
    # A third of the time of an HMAC.
    return hashlib.blake2b(entry.encode(), key=key, digest_size=BYTES).digest()
