"""Labels: names and paths of sources, kept where they can be blanked without leaving a copy.

A name is looked up by its hash: an index of names would hold copies of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import overload

from treering.journal.contract import Writer
from treering.text import composed


def hash_of(name: str) -> bytes:
    """Return the key of a name, 16 bytes, in any Unicode form of it."""
    return hashlib.sha256(composed(name).encode("utf-8", "surrogatepass")).digest()[:16]


def family_of(name: str) -> bytes | None:
    """The hash of a name up to and with its first colon; None if it has none."""
    head, colon, _ = name.partition(":")
    return hash_of(head + colon) if colon else None


@overload
def put(writer: Writer, text: str) -> int: ...
@overload
def put(writer: Writer, text: None) -> None: ...
@overload
def put(writer: Writer, text: str | None) -> int | None: ...
def put(writer: Writer, text: str | None) -> int | None:
    """Store a text; return the number of its label. None has no label."""
    return None if text is None else writer.insert("INSERT INTO label (text) VALUES (?)", (text,))


def blank(writer: Writer, space: int, labels: Iterable[int | None]) -> None:
    """Overwrite labels of a space that nothing refers to any more."""
    writer.blank("label", ("text",), space, [label for label in labels if label is not None])


def replace(writer: Writer, space: int, label: int | None, text: str | None) -> int | None:
    """Overwrite a label; return the number of the one that takes its place."""
    blank(writer, space, [label])
    return put(writer, text)
