"""Commands that bring much in or out: import, ingest, export, copy, backup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from treering import files
from treering.cli import stdin
from treering.cli.entries import note_skipped, other_counts, print_receipt
from treering.cli.filters import EntryOptions
from treering.cli.options import Moment, command, opt
from treering.cli.output import note, note_some, plural
from treering.cli.run import Run
from treering.errors import CopyMismatch, InputError, JournalCorrupt, TreeringError, UnknownName
from treering.ingest.transcripts.contract import ORIGINS
from treering.records import Receipt
from treering.temporary import private_file

if TYPE_CHECKING:
    from treering.memory import Memory

commands = typer.Typer()

_EMPTY_EXPORT = "the export is empty; give a file that `treering export` has written"


@command(
    commands,
    "import",
    file="A file, a folder or a .zip; or - for an export piped in.",
    origin=opt(f"Read this kind only: {', '.join(ORIGINS)}.", metavar="NAME"),
    since="Only messages from this time on.",
    project=opt("Only sessions of a coding agent in this folder.", metavar="FOLDER"),
    mask="Store no keys, passwords and <private> passages of conversations. Default: --mask.",
    settings="Take the settings of an export into a space that has entries, too.",
    again_forgotten="Also messages that were forgotten in this space.",
)
def import_(
    run: Run,
    file: Annotated[str, typer.Argument()] = stdin.STDIN,
    origin: str | None = None,
    since: Moment = None,
    project: str | None = None,
    mask: bool | None = None,
    settings: bool = False,
    again_forgotten: bool = False,
) -> None:
    """Import past conversations, or a file of `treering export`.

    Reads the transcripts of Claude Code and Codex, the exports of ChatGPT, claude.ai, WhatsApp,
    Slack and Telegram, and mail (.eml, .mbox); the content tells which it is. Importing the same
    again changes nothing. Skipped messages are counted by reason. An export is imported
    as a whole or not at all, one of all spaces space by space, each under its name; conversations a
    few hundred messages at a time. Only conversations take --origin, --since, --project and --mask.
    The settings of an export are for a space without entries; another one takes them with
    --settings.
    """
    from treering.ingest.transcripts.importing import ImportOptions, ensure_conversations, is_export

    if not file:
        raise InputError("the name of the file is empty; `.` is the current folder")
    if file == stdin.STDIN or is_export(Path(file)):
        refused = {"origin": origin, "since": since, "project": project, "mask": mask}
        for name, value in refused.items():
            if value is not None and value is not False:
                raise InputError(
                    f"--{name} is for conversations; an export is imported as a whole: leave "
                    f"--{name} out"
                )
        _import_export(run, file, settings=settings, again_forgotten=again_forgotten)
        return
    if settings:
        raise InputError("--settings is for an export; conversations have none")
    options = ImportOptions.check(origin, since, project, mask is not False)
    if not run.is_there:
        ensure_conversations(Path(file), options)  # before a memory is made
    with run.memory(create=True) as memory, run.out.progress("importing") as progress:
        receipt = memory.import_(
            Path(file), again_forgotten=again_forgotten, progress=progress, **asdict(options)
        )
    print_receipt(run, receipt)


def _import_export(run: Run, name: str, **options: Any) -> None:
    """Import an export; one of several spaces into the spaces that it names.

    A memory is made only for an export that can be read to its end.
    """
    from treering.ingest.intake import check_export

    receipts: list[Receipt] = []
    with stdin.rereadable(name) as lines:
        if not run.is_there:
            for _, part in _parts(run, lines()):
                check_export(part)
        for space, part in _parts(run, lines()):
            chosen = run.in_space(space) if space else run
            with chosen.memory(create=True) as memory, run.out.progress("importing") as progress:
                receipts.append(memory.import_(part, progress=progress, **options))
    if not receipts:
        raise InputError(_EMPTY_EXPORT)
    print_receipt(run, Receipt.total(receipts))


def _parts(run: Run, lines: Iterable[str]) -> Iterator[tuple[str | None, Iterator[str]]]:
    """Iterate over the spaces of an export: the name in the header, if it has one, and the lines.

    Each part is to be read before the next one. Raise InputError for a space that the user did not
    name.
    """
    rest = iter(lines)
    header = next(rest, None)
    while header is not None:
        space = _space_in(header)
        if space and run.named_space not in (None, space):
            raise InputError(
                f"the export is of space {space!r}, not {run.named_space!r}: leave --space and "
                "TREERING_SPACE out, or export one space alone"
            )
        following: list[str] = []
        yield space, _until_next_header(header, rest, following)
        header = following[0] if following else None


def _until_next_header(header: str, rest: Iterator[str], following: list[str]) -> Iterator[str]:
    """Iterate over the lines of one space; put the header of the next one into ``following``."""
    yield header
    for line in rest:
        # An entry has an id and a text; only headers have a format, in front.
        if line.startswith('{"format": ') and _space_in(line) is not None:
            following.append(line)
            return
        yield line


def _space_in(header: str) -> str | None:
    try:
        fields = json.loads(header)
    except (ValueError, RecursionError):
        return None  # the import says what is wrong with the line
    space = fields.get("space") if isinstance(fields, dict) else None
    return space if isinstance(space, str) else None


@command(
    commands,
    places=opt(
        "Files, folders, or URIs such as s3://bucket/folder (extra `remote`).", metavar="PATH|URI…"
    ),
    workers=opt("Workers that embed. Default: one a processor.", metavar="N"),
    ray=opt(
        "Workers are actors of Ray: `auto` for the cluster that runs here, `local` for one that is "
        "started for this, or an address (extra `ray`).",
        metavar="ADDRESS",
    ),
    source="The name of the source. Default: the path, or the URI.",
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


@command(
    commands,
    file="Where to write, or - for standard output.",
    all_spaces="Write every space of the file, not one.",
)
def export(
    run: Run,
    file: Annotated[str, typer.Argument()] = stdin.STDIN,
    force: bool = False,
    all_spaces: bool = False,
) -> None:
    """Write the space, or all, as lines of JSON, which `treering import` reads."""
    from treering.ingest.exchange import is_entry

    damaged: JournalCorrupt | None = None
    count = 0
    with run.memory(whole=all_spaces) as memory:
        lines = _all_spaces(run, memory) if all_spaces else memory.export()
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


def _all_spaces(run: Run, memory: Memory) -> Iterator[str]:
    """Iterate over the exports of all spaces. Raise InputError for a memory on a server.

    What is damaged is left out. Raise JournalCorrupt naming it, after all that can be read.
    """
    if run.is_served:
        raise InputError("--all-spaces is the owner's, where the file is; a key opens one space")
    damaged: list[JournalCorrupt] = []
    for name in memory.spaces():
        with run.in_space(name).memory() as space:
            lines = space.export()
            yield json.dumps(json.loads(next(lines)) | {"space": name})
            try:
                yield from lines
            except JournalCorrupt as error:
                damaged.append(error)
    if damaged:
        raise JournalCorrupt("\n".join(map(str, damaged)))


@contextmanager
def _new_file(path: Path, force: bool) -> Iterator[TextIO]:
    """Yield a text for a file that only its owner may read; the file exists once it is complete.

    Raise InputError for a file that must not be written: an existing one, or a memory.
    """
    if path.exists() and not force:
        raise InputError(f"{path} is there already; give another name or --force")
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

    Entries keep their ids, places, times and metadata, spaces their settings. Nothing is copied if
    a space of the target holds anything else: all such spaces are named. After an interruption the
    same command continues. Exits with 6 if the source has changed meanwhile. Not copied are the
    keys of a server, what models have cost, and all derived data: the embedding model of the target
    makes it again.
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
    names = space or _spaces(source, run.named_space)
    _refuse_clashes(source, target, names)
    for name in names:
        with _name_space(name):
            _copy_space(run, source.in_space(name), target.in_space(name))


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


def _refuse_clashes(source: Run, target: Run, names: Sequence[str]) -> None:
    """Raise InputError, before anything is copied, if spaces of the target hold anything else."""
    from treering.copying import clashes, refuse_clashes

    counts = {}
    for name in names:
        with source.in_space(name).memory() as here:
            try:
                with target.in_space(name).memory() as there:
                    counts[name] = clashes(here, there)
            except UnknownName:  # copying makes it
                continue
    refuse_clashes(counts)


def _spaces(source: Run, named: str | None) -> list[str]:
    """Return the spaces to copy if no option names any. Raise UnknownName."""
    if named is not None:
        return [named]
    with source.memory(whole=True) as memory:
        spaces = memory.spaces()
    if not spaces:
        raise UnknownName(f"the memory at {source.place} has no space; there is nothing to copy")
    return spaces


@contextmanager
def _name_space(space: str) -> Iterator[None]:
    """Say which space an error is of, and that the same command continues."""
    try:
        yield
    except CopyMismatch:
        note(f"space {space!r} was copied, but:")
        raise
    except (InputError, KeyboardInterrupt):
        raise
    except TreeringError:
        note(f"space {space!r} is not copied as a whole; the same command goes on where it was")
        raise
