"""Follows a file or folder of transcripts: what is added to it is taken in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event

from treering import files
from treering.errors import MissingExtra
from treering.ingest.transcripts.follow import new_lines
from treering.ingest.transcripts.importing import ImportOptions, TakeIn, import_path
from treering.ingest.transcripts.registry import format_of, line_format_of
from treering.records import Receipt

WAIT_MS = 500
"""After so long without a change the watcher looks whether it shall end."""


def watched(
    path: Path, take_in: TakeIn, options: ImportOptions, changes: Iterable[set[Path]] | None = None
) -> Iterator[Receipt]:
    """Take in what is added at a path, and yield what each change brought, until ``changes`` ends.

    ``changes`` are sets of changed files (default: what the system reports, without end).
    """
    offsets: dict[Path, int] = {}
    whole = path if path.is_dir() and format_of(path) is not None else None
    for changed in changes_below(path) if changes is None else changes:
        for file in {whole} if whole else sorted(changed):
            receipt = _taken_in(file, take_in, options, offsets)
            if receipt is not None and receipt.ids:
                yield receipt


def _taken_in(
    file: Path, take_in: TakeIn, options: ImportOptions, offsets: dict[Path, int]
) -> Receipt | None:
    if files.is_memory(file) or not file.exists():
        return None
    if file.is_dir():
        return import_path(file, take_in, options)
    if line_format_of(file) is not None:
        new = new_lines(file, offsets.get(file, 0), options)
        receipt = take_in(new.lines) if new.lines else None
        offsets[file] = new.offset  # after it is durable: a failure is tried again
        return receipt
    return import_path(file, take_in, options) if format_of(file) is not None else None


def changes_below(path: Path, stop: Event | None = None) -> Iterator[set[Path]]:
    """The files below a path that change, together as they come.

    First come all that are there: something may have changed since they were read. Ends when
    ``stop`` is set. Raises MissingExtra.
    """
    try:
        from watchfiles import watch
    except ModuleNotFoundError as missing:
        raise MissingExtra.of("watchfiles", "watch") from missing
    root = path.resolve()
    events = watch(root, rust_timeout=WAIT_MS, yield_on_timeout=True, stop_event=stop, step=100)
    behind = True
    with suppress(KeyboardInterrupt):
        for event in events:
            changed = {Path(name) for _, name in event}
            if behind:
                changed |= {root} if root.is_file() else set(root.rglob("*"))
                behind = False
            if changed:
                yield {file for file in changed if file.is_file()}
