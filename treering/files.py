"""The one place that opens files which a user names; it never opens those of the memory itself.

Opening and closing a file that SQLite has open drops SQLite's locks (see
``treering.journal.opened``). Another process may then remove its log, and all that was acknowledged
with it. So nothing else in the package opens a file that a user named, or that lies in a user's
folder; a test checks that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from treering.errors import InputError
from treering.journal import opened

REASON = "the memory itself"
"""Why a file was left out."""


def is_memory(path: Path) -> bool:
    """Whether a path leads to a database that is open here, or its log, by whatever name."""
    return opened.is_open(path)


def refuse_memory(path: Path) -> None:
    """Raise InputError if a path leads to a database that is open here, or its log."""
    if is_memory(path):
        raise InputError(f"{path} is {REASON}; give another file")


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file. Raises OSError, and InputError for the memory itself."""
    refuse_memory(path)  # first: looking does no harm, while opening and closing would
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        # Between the look and now the path may have come to lead to a memory.
        if opened.is_open(descriptor):
            raise InputError(f"{path} is {REASON}; give another file")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            yield stream
    finally:
        opened.close(descriptor)


def read_bytes(path: Path) -> bytes:
    """All bytes of a file. Raises OSError, and InputError for the memory itself."""
    with open_file(path) as stream:
        return stream.read()


def read_replaced(path: Path) -> str:
    """The text of a file with line ends as ``\\n``; bytes that are not UTF-8 are replaced.

    Raises OSError, and InputError for the memory itself.
    """
    text = read_bytes(path).decode("utf-8", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")
