"""Text from standard input and from files the user names, line by line as it comes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from treering import files
from treering.errors import InputError, TextEncodingError

STDIN = "-"


def is_piped() -> bool:
    """Whether standard input comes from a file or a program rather than from a keyboard."""
    return not sys.stdin.isatty()


def argument(value: str) -> str:
    """The value itself, or all of standard input for ``-``. Raises TextEncodingError."""
    return "".join(piped_lines()) if value == STDIN else value


def piped_lines() -> Iterator[str]:
    """The lines of standard input. Raises TextEncodingError while iterating."""
    return _decoded(sys.stdin.buffer, "standard input")


def lines_of(name: str) -> Iterator[str]:
    """The lines of a file, or of standard input for ``-``.

    Raises InputError if there is no such file, TextEncodingError while iterating.
    """
    if name == STDIN:
        return piped_lines()
    path = Path(name)
    if not path.is_file():
        raise InputError(f"{path} is not a file")
    return _file_lines(path)


def _file_lines(path: Path) -> Iterator[str]:
    with files.open_file(path) as stream:
        yield from _decoded(stream, str(path))


def _decoded(stream: BinaryIO, name: str) -> Iterator[str]:
    for number, line in enumerate(stream, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise TextEncodingError(
                f"{name}: line {number} is not UTF-8 text ({error.reason}); convert it first"
            ) from error
