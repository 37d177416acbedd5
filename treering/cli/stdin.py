"""Text from standard input or from files that the user names, read line by line."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final

from treering import files
from treering.errors import InputError, TextEncodingError

STDIN = "-"
_STANDARD_INPUT: Final = "standard input"

MOST_ANSWER_BYTES: Final = 64  # more than a yes or a no, and little to repeat in an error


def is_piped() -> bool:
    """Whether standard input comes from a file or a program rather than from a keyboard."""
    return sys.stdin is None or not sys.stdin.isatty()


def argument(value: str) -> str:
    """The value itself, or all of standard input for ``-``. Raises TextEncodingError."""
    return "".join(piped_lines()) if value == STDIN else value


def piped_lines() -> Iterator[str]:
    """The lines of standard input. Raises TextEncodingError while iterating."""
    return _decoded(BytesIO() if sys.stdin is None else sys.stdin.buffer, _STANDARD_INPUT)


def answer(patience_s: float) -> str | None:
    """The first line of standard input, or the beginning of a long one; None if none comes in time.

    Raises TextEncodingError.
    """
    if sys.stdin is None or not _is_readable(patience_s):
        return None
    line = sys.stdin.buffer.readline(MOST_ANSWER_BYTES)
    return next(_decoded([line], _STANDARD_INPUT)).strip() if line else None


def _is_readable(patience_s: float) -> bool:
    """Whether standard input has something, or its end, before some seconds are over.

    A pipe may stay open with nobody who writes to it. Where the system cannot say, it is read.
    """
    try:
        return os.name != "posix" or bool(select.select([sys.stdin], [], [], patience_s)[0])
    except (OSError, ValueError):  # it is no file of the system
        return True


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


@contextmanager
def kept(name: str) -> Iterator[Callable[[], Iterator[str]]]:
    """What gives the lines of a file, or of standard input for ``-``, as often as it is called.

    Raises as ``lines_of``, and for standard input at once.
    """
    if name != STDIN:
        yield lambda: lines_of(name)
        return
    with TemporaryFile("w+", encoding="utf-8", newline="") as held:  # a pipe is read once
        held.writelines(piped_lines())

        def again() -> Iterator[str]:
            held.seek(0)
            return iter(held)

        yield again


def _file_lines(path: Path) -> Iterator[str]:
    with files.open_file(path) as stream:
        yield from _decoded(stream, str(path))


def _decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise TextEncodingError(
                f"{name}: line {number} is not UTF-8 text ({error.reason}); convert it first"
            ) from error
