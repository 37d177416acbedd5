"""``treering ingest``: much at once, with many workers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from treering.cli.options import EntryOptions, command
from treering.cli.output import EVERY_S, FIRST_LINE_S, counted, note, note_some
from treering.cli.run import Run
from treering.errors import InputError

if TYPE_CHECKING:
    from treering.bulk.ingest import IngestProgress, IngestReport

commands = typer.Typer()


@command(commands)
def ingest(
    run: Run,
    about: EntryOptions,
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|URI…",
            help="Files, folders, or URIs such as s3://bucket/folder (extra `remote`).",
        ),
    ],
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many workers embed. Default: one a processor."),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Workers are actors of Ray: `auto` for the cluster that runs here, `local` for "
            "one that is started for this, or an address (extra `ray`).",
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="What it is called. Default: the path, or the URI.")
    ] = None,
) -> None:
    """Take in many files with many workers; the journal is the same as after `treering add`.

    Reads what `add` reads (texts, code, documents, JSON lines of messages) and exports. Everything
    is durable first; then workers cut and embed while one process stores. Called again, it goes on
    where it was, whatever was killed.
    """
    if run.is_served:
        raise InputError(
            f"{run.place} is a server, which embeds by itself; run ingest where its file is, or on "
            "its PostgreSQL database"
        )
    from treering.bulk.ingest import bulk_ingest

    described = about.chosen()
    with run.memory(create=True) as memory, _progress() as progress:
        report = bulk_ingest(
            memory, *places, workers=workers, ray=ray, source=source, progress=progress, **described
        )
    _show(run, report)


def _show(run: Run, report: IngestReport) -> None:
    changes = {
        "unchanged": report.unchanged,
        "removed": report.removed,
        "skipped": len(report.skipped),
        "masked": report.masked,
        "private": report.private,
        "moved": report.moved,
    }
    others = "".join(f", {count:,} {what}" for what, count in changes.items() if count)
    entries = counted(report.added, "entry", "entries")
    files = counted(report.files, "file", "files")
    run.out.emit(report, f"added {entries} of {files}{others}\n{_cost(report)}")
    note_some([f"skipped {skipped.path}: {skipped.reason}" for skipped in report.skipped])
    note_some([f"gone: {name}" for name in report.gone])
    if report.pending:
        note(f"{report.pending:,} wait to be indexed; `treering settle` goes on")


def _cost(report: IngestReport) -> str:
    return (
        f"{report.texts:,} texts, {report.chars / 1e6:,.1f} MB, in {report.seconds:,.1f} s by "
        f"{counted(report.workers, 'worker', 'workers')}: {report.texts / report.seconds:,.0f} "
        f"texts/s, {report.worker_seconds:,.1f} s of processors"
    )


def line_of(progress: IngestProgress) -> str:
    """How far an ingest is, on one line."""
    if progress.step == "reading":
        return f"reading: {progress.done:,} files, {progress.entries:,} new entries"
    left = progress.seconds_left
    rest = "" if left is None else f", {timedelta(seconds=round(left))} left"
    return (
        f"embedding: {progress.done:,} of {progress.total:,} entries, "
        f"{progress.texts_per_second:,.0f} texts/s, {progress.megachars_per_second:.2f} MB/s{rest}"
    )


@contextmanager
def _progress() -> Iterator[Callable[[IngestProgress], None]]:
    """A line on stderr that is written over, or one now and then if that is no terminal."""
    if not sys.stderr.isatty():
        yield progress_lines()
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda progress: status.update(line_of(progress))


def progress_lines(
    clock: Callable[[], float] = time.monotonic,
) -> Callable[[IngestProgress], None]:
    """A function that notes how far an ingest is, seldom enough for a log file."""
    due = clock() + FIRST_LINE_S

    def move(progress: IngestProgress) -> None:
        nonlocal due
        if clock() >= due:
            note(line_of(progress))
            due = clock() + EVERY_S

    return move
