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

import typer

from treering import files
from treering.cli.output import note, printable
from treering.errors import InputError, TextEncodingError

STDIN = "-"
_STANDARD_INPUT: Final = "standard input"

ANSWER_S: Final = 10.0  # the writer of a pipe answers sooner
MOST_ANSWER_BYTES: Final = 64  # more than a yes or a no, and little to repeat in an error
_ANSWERS: Final = {"y": True, "yes": True, "n": False, "no": False, "": False}
NO_ANSWER: Final = "no answer came: nothing was erased; give --yes, or pipe in a y"


def is_piped() -> bool:
    """Return whether standard input comes from a file or a program instead of a keyboard."""
    return sys.stdin is None or not sys.stdin.isatty()


def argument(value: str) -> str:
    """Return the value itself, or all of standard input for ``-``. Raise TextEncodingError."""
    return "".join(piped_lines()) if value == STDIN else value


def piped_lines() -> Iterator[str]:
    """Iterate over the lines of standard input. Raise TextEncodingError."""
    return _decode(BytesIO() if sys.stdin is None else sys.stdin.buffer, _STANDARD_INPUT)


def lines_of(name: str) -> Iterator[str]:
    """Iterate over the lines of a file, or of standard input for ``-``.

    Raise InputError if the file is missing, TextEncodingError while iterating.
    """
    if name == STDIN:
        return piped_lines()
    path = Path(name)
    if not path.is_file():
        raise InputError(f"{path} is not a file")
    return _file_lines(path)


@contextmanager
def rereadable(name: str) -> Iterator[Callable[[], Iterator[str]]]:
    """Yield a function that returns the lines of ``lines_of`` as often as it is called."""
    if name != STDIN:
        yield lambda: lines_of(name)
        return
    with TemporaryFile("w+", encoding="utf-8", newline="") as copy:  # a pipe is read once
        copy.writelines(piped_lines())

        def again() -> Iterator[str]:
            copy.seek(0)
            return iter(copy)

        yield again


def confirm() -> None:
    """Ask whether to erase; end the command if not. An answer may be piped in, as to ``rm -i``.

    Raise InputError if no answer comes, or it is neither yes nor no.
    """
    if not (_is_piped_yes() if is_piped() else _is_typed_yes()):
        note("nothing was erased")
        raise typer.Exit(0)


def _is_typed_yes() -> bool:
    try:
        return typer.confirm("Erase?", err=True)
    except typer.Abort as error:
        note("")  # the line of the question is not ended yet
        if isinstance(error.__context__, EOFError):
            raise InputError(NO_ANSWER) from error
        note("nothing was erased")
        raise


def _is_piped_yes() -> bool:
    sys.stderr.write("Erase? [y/N]: ")
    sys.stderr.flush()
    answer = _first_line()
    note(printable(answer or ""))
    if answer is None:
        raise InputError(NO_ANSWER)
    if answer.lower() not in _ANSWERS:
        raise InputError(
            f"{answer!r} is neither y nor n: nothing was erased; give --yes, or pipe in a y"
        )
    return _ANSWERS[answer.lower()]


def _first_line() -> str | None:
    """Return the first line of standard input, cut if it is long; None if none comes in time."""
    if sys.stdin is None:
        return None
    try:
        is_readable = os.name != "posix" or select.select([sys.stdin], [], [], ANSWER_S)[0]
    except (OSError, ValueError):  # not a file of the system
        is_readable = True
    line = sys.stdin.buffer.readline(MOST_ANSWER_BYTES) if is_readable else b""
    return next(_decode([line], _STANDARD_INPUT)).strip() if line else None


def _file_lines(path: Path) -> Iterator[str]:
    with files.open_file(path) as stream:
        yield from _decode(stream, str(path))


def _decode(lines: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise TextEncodingError(
                f"{name}: line {number} is not UTF-8 text ({error.reason}); convert it first"
            ) from error
