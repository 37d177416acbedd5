"""The rows of leaves: the places of texts in the tree.

The fragments of a leaf are repetitions of one text, with the same digest, or the parts of one round
of a chat, each with a digest of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from treering.arrays import Floats
from treering.journal import damage
from treering.journal.contract import Reader, Writer
from treering.journal.space import EmbeddingModel
from treering.records import Kind
from treering.text import with_speaker
from treering.views.fragments import store as fragments

DIGEST_BYTES: Final = 16  # two texts share a digest by chance with probability 2^-64 in 2^32 texts


@dataclass(frozen=True, slots=True)
class NewLeaf:
    """A text that is not in the tree, as it was embedded, and its vector.

    It has one fragment, or those of a round of a chat.
    """

    fragments: tuple[int, ...]
    text: str
    vector: Floats
    kind: Kind

    def digests(self) -> tuple[bytes, ...]:
        """A digest for each fragment: of a whole text the same wherever it is repeated.

        The parts of a round have each another one, by which it is told from a repetition.
        """
        if len(self.fragments) == 1:
            return (_digest(self.text),)
        return tuple(_digest(f"{fragment}\0{self.text}") for fragment in self.fragments)


class LeafRow(NamedTuple):
    """The leaf of a fragment, and the fragment's digest there."""

    number: int
    digest: bytes


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


def new_leaves(
    reader: Reader, model: EmbeddingModel, mark: int, limit: int
) -> tuple[int, list[NewLeaf]]:
    """The new mark, and the fragments embedded since ``mark`` that have no leaf; none of code."""
    mark, vectors = fragments.embedded_after(reader, reader.space, model, mark, limit)
    found = reader.rows(
        "SELECT f.id, b.text, f.start, f.stop, b.speaker, e.kind, l.number"
        # LEFT: a missing row is an error; if it were skipped, the text would never be a leaf.
        " FROM fragment f LEFT JOIN entry e ON e.space = f.space AND e.seq = f.entry"
        " LEFT JOIN body b ON b.id = e.body"
        " LEFT JOIN leaf l ON l.space = f.space AND l.fragment = f.id"
        " WHERE f.space = ? AND f.id IN (SELECT value FROM json_each(?))",
        (reader.space, json_list(vectors)),
    )
    rows = {int(row[0]): row[1:] for row in found}
    new = []
    with damage.decoding("the text of a fragment"):
        for fragment, vector in vectors.items():
            text, start, stop, speaker, kind, number = rows[fragment]
            if number is None and kind != "code":
                said = with_speaker(damage.checked(str, text)[start:stop], speaker)
                new.append(NewLeaf((fragment,), said, vector, kind))
    return mark, new


def leaf_by_digest(reader: Reader, digest: bytes) -> int | None:
    """The leaf that holds exactly this text."""
    row = reader.row(
        "SELECT number FROM leaf WHERE space = ? AND digest = ? LIMIT 1", (reader.space, digest)
    )
    return None if row is None else int(row[0])


def put_leaf(writer: Writer, number: int, leaf: NewLeaf) -> None:
    """Store the leaf of the fragments of a text."""
    writer.many(
        "INSERT INTO leaf (fragment, space, number, digest) VALUES (?, ?, ?, ?)",
        (
            (fragment, writer.space, number, digest)
            for fragment, digest in zip(leaf.fragments, leaf.digests(), strict=True)
        ),
    )


def places_of(reader: Reader, wanted: Iterable[int]) -> dict[int, LeafRow]:
    """The leaves of fragments; those outside of the tree are left out."""
    rows = reader.rows(
        "SELECT fragment, number, digest FROM leaf"
        " WHERE space = ? AND fragment IN (SELECT value FROM json_each(?))",
        (reader.space, json_list(wanted)),
    )
    return {int(row[0]): LeafRow(int(row[1]), bytes(row[2])) for row in rows}


def leaf_of_fragments(reader: Reader) -> Iterator[tuple[int, int]]:
    """Every fragment and its leaf."""
    rows = reader.rows("SELECT fragment, number FROM leaf WHERE space = ?", (reader.space,))
    return ((int(row[0]), int(row[1])) for row in rows)


def fragments_by_leaf(reader: Reader, numbers: Iterable[int]) -> dict[int, dict[int, bytes]]:
    """The fragments of leaves, oldest first, each with its digest; empty leaves are left out."""
    found: dict[int, dict[int, bytes]] = defaultdict(dict)
    rows = reader.rows(
        "SELECT number, fragment, digest FROM leaf"
        " WHERE space = ? AND number IN (SELECT value FROM json_each(?)) ORDER BY fragment",
        (reader.space, json_list(numbers)),
    )
    for number, fragment, digest in rows:
        found[int(number)][int(fragment)] = bytes(digest)
    return dict(found)


def leaves_of_entry(reader: Reader, seq: int) -> list[int]:
    """The leaves of an entry's fragments, in the order of the entry."""
    rows = reader.rows(
        "SELECT l.number FROM leaf l JOIN fragment f ON f.space = l.space AND f.id = l.fragment"
        " WHERE l.space = ? AND f.entry = ? ORDER BY f.start",
        (reader.space, seq),
    )
    return list(dict.fromkeys(int(row[0]) for row in rows))


def detach(writer: Writer, gone: Iterable[int]) -> tuple[list[int], list[int]]:
    """Take fragments off their leaves.

    Returns the leaves that no fragment stands on now, and the fragments that were parts of the same
    rounds: without the others these are not a round, and get no leaf.
    """
    places = places_of(writer, gone)
    _take_off(writer, places)
    digests = {place.number: place.digest for place in places.values()}
    left = fragments_by_leaf(writer, digests)
    empty: list[int] = []
    loose: list[int] = []
    for number, digest in sorted(digests.items()):
        rest = left.get(number, {})
        if digest not in rest.values():
            _take_off(writer, rest)
            empty.append(number)
            loose += rest
    return empty, loose


def _take_off(writer: Writer, gone: Iterable[int]) -> None:
    writer.many(
        "DELETE FROM leaf WHERE space = ? AND fragment = ?",
        ((writer.space, fragment) for fragment in gone),
    )


def json_list(numbers: Iterable[int]) -> str:
    """Numbers as one parameter of a statement."""
    return json.dumps(list(numbers))
