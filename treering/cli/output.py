"""The output of a command: text for people, JSON for programs, notes and progress on stderr.

Stdout holds the result and nothing else. Remembered text is data: it is never read as markup. Its
control characters, which could move a terminal's cursor or hide text, are shown as codes, also in a
pipe: a pager or a log may end in a terminal.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import datetime, timedelta
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO, TypeVar

from treering.text import shorten_source

T = TypeVar("T")
Part = str | tuple[str, str]
"""A text, or a text and a rich style."""

FIRST_LINE_S = 2.0  # a task that ends sooner needs no line
EVERY_S = 15.0
PIPE_COLUMNS = 240
SHOWN = 10  # lines of a long list, such as skipped files

# C0 but tab and line feed, DEL, C1, and overrides of the direction of writing.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Text that a terminal only shows: control characters appear as codes."""
    shown = text.replace("\r\n", "\n")
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", shown)


def to_json(value: object) -> str:
    """A record as one line of JSON, in ASCII, so that its reader need not know an encoding."""
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return json.dumps(plain, default=_plain)


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def plural(count: int, singular: str, plural: str) -> str:
    """A number with its noun, such as "1 entry" and "2,000 entries"."""
    return f"{count:,} {singular if count == 1 else plural}"


def shown_path(path: str) -> str:
    """Return a path on one line, with odd characters escaped."""
    return path if path.isprintable() else repr(path)


def short_path(source: str) -> str:
    """A source that is a path below the current or the home folder, as ``./…`` or ``~/…``.

    ``--source`` takes it so. Others stay as they are.
    """
    if not Path(source).is_absolute():
        return source
    for folder, short in ((Path.cwd(), "."), (Path.home(), "~")):
        below = f"{folder}{os.sep}"
        if len(below) > 2 and source.startswith(below):
            return f"{short}{os.sep}{source.removeprefix(below)}"
    return source


def short_source(source: str) -> str:
    """Return a source, without its middle if it is long, in at most a quarter of a line."""
    return shorten_source(short_path(source), line_width() // 4)


def line_width() -> int:
    """Return the columns of the terminal, or of a line in a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_COLUMNS


def use_utf8() -> None:
    """Write UTF-8 into pipes and files whatever the locale says; a terminal keeps its own coding.

    What a terminal cannot show appears as a code.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a program that embeds this may have put another
            if stream.isatty():
                stream.reconfigure(errors="backslashreplace")
            else:
                # The name of a file may hold bytes that no encoding has.
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def note(*parts: Part) -> None:
    """Write a line to stderr, for a person."""
    _write(sys.stderr, parts)


def note_some(lines: Sequence[str]) -> None:
    """Note the first lines, and how many there are besides."""
    for line in lines[:SHOWN]:
        note(line)
    if len(lines) > SHOWN:
        note(f"… and {len(lines) - SHOWN} more; --json lists all")


class Output:
    """Where the results of one command go."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def emit(self, record: object, *parts: Part) -> None:
        """Print one result: the record as a line of JSON, or the parts as text."""
        if self.as_json:
            sys.stdout.write(to_json(record) + "\n")
        else:
            _write(sys.stdout, parts)

    def emit_all(
        self,
        records: Iterable[T],
        parts: Callable[[T], Iterable[Part]],
        nothing: str = "nothing found",
    ) -> None:
        """Print results with ``parts`` for the text of each, or note that there is nothing."""
        is_empty = True
        for record in records:
            self.emit(record, *parts(record))
            is_empty = False
        if is_empty:
            note(nothing)

    def stream(self, pieces: Iterator[str]) -> None:
        """Print a text piece by piece. With --json print nothing: a record follows."""
        for piece in pieces:
            if not self.as_json:
                sys.stdout.write(printable(piece))
                sys.stdout.flush()  # the writer of a pipe waits for the reply
        if not self.as_json:
            sys.stdout.write("\n")
        sys.stdout.flush()

    def lines(self, lines: Iterator[str]) -> None:
        """Print lines of data, in a pipe as they are."""
        for line in lines:
            sys.stdout.write((printable(line) if sys.stdout.isatty() else line) + "\n")

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """A progress bar on stderr, or a line now and then if stderr is not a terminal.

        Call the function to move it on.
        """
        if not sys.stderr.isatty():
            yield progress_lines(what)
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = (what, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


def progress_lines(
    what: str, clock: Callable[[], float] = time.monotonic
) -> Callable[[int, int], None]:
    """A function that notes how far a long piece of work is, seldom enough for a log file."""
    began, first = clock(), 0
    due = began + FIRST_LINE_S

    def move(done: int, total: int) -> None:
        nonlocal began, due, first
        if first == 0 and total:
            began, first = clock(), done  # earlier work, such as reading files, was not counted
        now = clock()
        if now < due or done >= total > 0:  # the result reports the end
            return
        if done > first and total:
            left = timedelta(seconds=round((now - began) * (total - done) / (done - first)))
            note(f"{what}: {done:,} of {total:,}, {left} left")
        else:
            note(f"{what}: {done:,}" + (f" of {total:,}" if total else ""))
        due = now + EVERY_S

    return move


def _write(stream: TextIO, parts: tuple[Part, ...]) -> None:
    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    shown = [(printable(text), style) for text, style in pairs]
    if not stream.isatty():
        stream.write("".join(text for text, _ in shown) + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    Console(file=stream, highlight=False).print(Text.assemble(*shown))
