"""Commands that bring much in or out: import, ingest, export, copy, backup."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TextIO

import typer

from treering import files
from treering.cli import stdin
from treering.cli.entries import note_skipped, other_counts, print_receipt
from treering.cli.filters import EntryOptions
from treering.cli.options import Moment, command, opt
from treering.cli.output import note, note_some, plural
from treering.cli.run import Run
from treering.errors import CopyMismatch, InputError, JournalCorrupt, TreeringError, UnknownName
from treering.temporary import private_file

commands = typer.Typer()


@command(
    commands,
    "import",
    file="A file, a folder or a .zip; or - for an export piped in.",
    since="Only messages of conversations from this time on.",
    no_mask="Store keys, passwords and <private> passages of conversations, too.",
    settings="Take the settings of an export into a space that has entries, too.",
    again_forgotten="Also messages that were forgotten in this space.",
)
def import_(
    run: Run,
    file: Annotated[str, typer.Argument()] = stdin.STDIN,
    since: Moment = None,
    no_mask: bool = False,
    settings: bool = False,
    again_forgotten: bool = False,
) -> None:
    """Import past conversations, or a file of `treering export`.

    Reads the transcripts of Claude Code and Codex, the exports of ChatGPT, claude.ai, WhatsApp,
    Slack and Telegram, and mail (.eml, .mbox); the content tells which it is. Importing the same
    again changes nothing. Skipped messages are counted by reason. An export is imported
    as a whole or not at all, conversations a few hundred messages at a time. The settings of an
    export are for a space without entries; a space with entries takes them only with --settings.
    """
    if not file:
        raise InputError("the name of the file is empty; `.` is the current folder")
    if file != stdin.STDIN and not files.exists(file):
        raise InputError(f"there is no file or folder {file}")
    content = stdin.piped_lines() if file == stdin.STDIN else Path(file)
    with run.memory(create=True) as memory, run.out.progress("importing") as progress:
        receipt = memory.import_(
            content,
            since=since,
            mask=not no_mask,
            settings=settings,
            again_forgotten=again_forgotten,
            progress=progress,
        )
    print_receipt(run, receipt)


@command(
    commands,
    places=opt("Files or folders.", metavar="PATH…"),
    workers=opt("Workers that embed. Default: one a processor.", metavar="N"),
    ray=opt(
        "Workers are actors of Ray: `auto` for the cluster that runs here, `local` for one that is "
        "started for this, or an address (extra `ray`).",
        metavar="ADDRESS",
    ),
    source="The name of the source. Default: the path.",
)
def ingest(
    run: Run,
    about: EntryOptions,
    places: list[str],
    workers: int | None = None,
    ray: str | None = None,
    source: str | None = None,
) -> None:
    """Add many files with many workers; the journal is the same as after `treering add`.

    Reads the files that `add` reads (texts, code, documents, JSON lines of messages) and exports.
    Everything is durable first; then workers cut and embed while one process stores. After an
    interruption the same command continues.
    """
    if run.is_served:
        raise InputError(
            f"{run.place} is a server, which embeds by itself; run ingest where its file is, or on "
            "its PostgreSQL database"
        )
    from treering.bulk.ingest import bulk_ingest

    described = about.arguments()
    with run.memory(create=True) as memory, run.out.progress("embedding") as progress:
        report = bulk_ingest(
            memory, *places, workers=workers, ray=ray, source=source, progress=progress, **described
        )
    added = f"added {plural(report.added, 'entry', 'entries')}"
    run.out.emit(
        report,
        f"{added} of {plural(report.files, 'file', 'files')}{other_counts(report)}\n"
        f"{report.texts:,} texts, {report.chars / 1e6:,.1f} MB, in {report.seconds:,.1f} s by "
        f"{plural(report.workers, 'worker', 'workers')}: {report.texts / report.seconds:,.0f} "
        f"texts/s, {report.worker_seconds:,.1f} s of processors",
    )
    note_skipped(report)
    note_some([f"gone: {name}" for name in report.gone])


@command(commands, file="Where to write, or - for standard output.")
def export(
    run: Run, file: Annotated[str, typer.Argument()] = stdin.STDIN, force: bool = False
) -> None:
    """Write the space as lines of JSON, which `treering import` reads."""
    from treering.ingest.exchange import is_entry

    damaged: JournalCorrupt | None = None
    count = 0
    with run.memory() as memory:
        lines = memory.export()
        if file == stdin.STDIN:
            run.out.lines(lines)
            return
        with _new_file(Path(file), force) as stream:
            try:
                for line in lines:
                    stream.write(f"{line}\n")
                    count += is_entry(line)
            except JournalCorrupt as error:  # it comes after all that can be read, to be rescued
                damaged = error
    if damaged is not None:
        raise damaged
    done = f"wrote {plural(count, 'entry', 'entries')} to {file}"
    run.out.emit({"file": file, "entries": count}, done)


@contextmanager
def _new_file(path: Path, force: bool) -> Iterator[TextIO]:
    """Yield a text for a file that only its owner may read; the file exists once it is complete.

    Raise InputError for a file that must not be written: an existing one, or a memory.
    """
    if path.exists() and not force:
        raise InputError(f"{path} exists already; give another name or --force")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder; make it, or write elsewhere")
    files.refuse_memory(path)
    try:
        with private_file(path) as stream:
            yield stream
    except OSError as error:  # it names the unfinished file instead of the user's path
        raise InputError(f"cannot write {path}: {error.strerror}; write elsewhere") from error


@command(
    commands,
    from_=opt(
        "The memory to copy: a file, the URL of a server (http://…) or of PostgreSQL.",
        metavar="FROM",
    ),
    to=opt("Where to: one of these, too; made if need be.", metavar="TO"),
    space=opt(
        "Copy this space alone; may be repeated. Default: $TREERING_SPACE, else all.",
        metavar="NAME",
    ),
)
def copy(run: Run, from_: str, to: str, space: list[str] | None = None) -> None:
    """Copy a memory, or spaces of it, between files, servers and PostgreSQL; compare both sides.

    Entries keep their ids, places, times and metadata, spaces their settings. The command ends at a
    space of the target that holds anything else. After an interruption run it again.
    Exits with 6 if the source has changed meanwhile. Not copied are the keys of a server, what
    models have cost, and all derived data: the embedding model of the target makes it again.
    """
    source = replace(run, url=from_, embedder=None, is_named=True)
    target = replace(run, url=to, is_named=True)
    if target.is_served:  # it has its own
        target = replace(target, embedder=None)
    is_same = source.url == target.url
    if source.path is not None and target.path is not None:
        is_same = source.path.resolve() == target.path.resolve()
    if is_same:
        raise InputError(f"{target.place} is the memory itself; give another one to copy to")
    names = space or ([run.named_space] if run.named_space else [])
    if not names:
        with source.memory(whole=True) as memory:
            names = memory.spaces()
    if not names:
        raise UnknownName(f"the memory at {source.place} has no space; there is nothing to copy")
    for name in names:
        try:
            _copy_space(run, source.in_space(name), target.in_space(name))
        except CopyMismatch:
            note(f"space {name!r} was copied, but:")
            raise
        except TreeringError as error:
            if not isinstance(error, InputError):
                note(f"space {name!r} is not copied; run the same command again")
            raise


@command(
    commands,
    file="The memory's file, which may be in use.",
    to=opt("The file to write.", metavar="TO"),
    force="Overwrite it.",
)
def backup(run: Run, file: str, to: str, force: bool = False) -> None:
    """Copy the file of a memory while others read and write it, whole and as of one moment.

    The copy holds all that the file does, including keys of a server and derived data. It exists
    once it is complete, and only its owner may read it.
    """
    from treering.journal.sqlite.backup import backup as back_up

    source, target = replace(run, url=file), replace(run, url=to)
    if source.path is None or target.path is None:
        raise InputError(
            "backup is for files; copy a memory on a server with `treering copy`, and one in "
            "PostgreSQL with that or with pg_dump"
        )
    with run.out.progress("copying pages") as progress:
        size = back_up(source.path, target.path, overwrite=force, progress=progress)
    run.out.emit({"file": to, "bytes": size}, f"wrote {size / 1e6:,.1f} MB to {to}")


def _copy_space(run: Run, source: Run, target: Run) -> None:
    from treering.copying import copy_space

    with (
        source.memory() as here,
        target.memory(create=True, begins=True) as there,
        run.out.progress(f"copying {source.space}") as progress,
    ):
        done = copy_space(here, there, progress=progress)
    entries = plural(done.entries, "entry", "entries")
    run.out.emit(
        done,
        f"copied space {source.space!r}: {entries}, {done.added:,} of them now; "
        f"both sides have the digest {done.digest[:16]}",
    )
    if done.pending:
        note(f"{done.pending} wait to be indexed; `treering settle` goes on")
