"""Residue: bytes that should be gone, looked for in the files of a database."""

from __future__ import annotations

from collections.abc import Sequence
from io import FileIO
from pathlib import Path

from treering.journal import opened
from treering.journal.opened import Inode

_BLOCK = 1 << 20


def holds(inode: Inode, needles: Sequence[bytes]) -> bool:
    """Whether any of the needles is in the bytes of a file that has been entered."""
    with opened.stream(inode) as file:
        file.seek(0)
        return _contains(file, needles)


def log_holds(path: Path, needles: Sequence[bytes]) -> bool:
    """The same of a write-ahead log, on which SQLite keeps no locks."""
    with FileIO(path) as stream:
        return _contains(stream, needles)


def _contains(stream: FileIO, needles: Sequence[bytes]) -> bool:
    # A needle may lie across two blocks: each window begins with the end of the one before it.
    overlap = max(map(len, needles), default=1) - 1
    tail = b""
    while block := stream.read(_BLOCK):
        window = tail + block
        if any(needle in window for needle in needles):
            return True
        tail = window[-overlap:] if overlap else b""
    return False
