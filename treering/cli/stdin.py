"""Text from standard input, read line by line, and the question before something is erased."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import BytesIO
from typing import Final

import typer

from treering.cli.output import note
from treering.errors import InputError, TextEncodingError

STDIN = "-"
NOBODY_TO_ASK: Final = "nothing was erased, as there is no terminal to ask on; give --yes"


def is_piped() -> bool:
    """Return whether standard input comes from a file or a program instead of a keyboard."""
    return sys.stdin is None or not sys.stdin.isatty()


def argument(value: str) -> str:
    """Return the value itself, or all of standard input for ``-``. Raise TextEncodingError."""
    return "".join(piped_lines()) if value == STDIN else value


def piped_lines() -> Iterator[str]:
    """Iterate over the lines of standard input. Raise TextEncodingError."""
    lines = BytesIO() if sys.stdin is None else sys.stdin.buffer
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise TextEncodingError(
                f"standard input: line {number} is not UTF-8 text ({error.reason}); convert it "
                "first"
            ) from error


def confirm() -> None:
    """Ask on the terminal whether to erase; end the command if not.

    Raise InputError without a terminal: a pipe may never answer.
    """
    if is_piped():
        raise InputError(NOBODY_TO_ASK)
    try:
        is_sure = typer.confirm("Erase?", err=True)
    except typer.Abort:
        note("\nnothing was erased")  # the line of the question is not ended yet
        raise
    if not is_sure:
        note("nothing was erased")
        raise typer.Exit(0)
