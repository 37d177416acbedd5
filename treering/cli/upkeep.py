"""Commands that look after a memory: list, show, forget, fit, reembed, settle, export, stats."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from treering import files
from treering.cli import stdin
from treering.cli.options import Filters, command
from treering.cli.output import Part, counted, note, printable, short_path
from treering.cli.run import Run
from treering.cli.whole_file import export_all
from treering.errors import InputError, JournalCorrupt, UnknownEntry, UnknownName
from treering.hints import Hint
from treering.records import Entry, Stats
from treering.temporary import private_file

if TYPE_CHECKING:
    from treering.memory import Memory
    from treering.search.relations.registry import FitReport

commands = typer.Typer()

EXCERPT_CHARS = 80
ANSWER_S = 10.0  # a pipe that says nothing for so long has nobody who answers
NOBODY = "nobody is there to confirm: nothing was erased; give --yes, or pipe in a y"
_ANSWERS = {"y": True, "yes": True, "n": False, "no": False, "": False}
SHOWN = 5  # entries named before they are forgotten; the count tells the rest
STILL_READ = (
    "another process is reading the file, or much is to be rewritten: erased text may still be in "
    "its bytes; run `treering settle` when that process is done"
)
Yes = Annotated[
    bool,
    typer.Option("--yes", "-y", help="Do not ask. Else the answer, y or n, may be piped in."),
]
EntryId = Annotated[str, typer.Argument(metavar="ID", help="The entry.")]


@command(commands, name="list")
def list_(
    run: Run,
    where: Filters,
    limit: Annotated[int | None, typer.Option(min=1, help="How many at most.")] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="List sources with their numbers of entries.")
    ] = False,
) -> None:
    """List entries in the order they were added."""
    with run.memory(may_be_empty=True) as memory:
        conditions = where.of(memory)
        entries = memory.entries(**conditions)
        if not memory.page(limit=1, **conditions).entries:
            note("\n".join(["nothing found", *where.why_nothing(memory)]))
        if sources:
            counts = Counter(entry.source for entry in entries)
            for name, count in islice(counts.items(), limit):
                record = {"source": name, "entries": count}
                run.out.emit(record, f"{count:8}  ", (short_path(name), "cyan"))
            return
        for entry in islice(entries, limit):
            run.out.emit(entry, *_brief(entry))


@command(commands)
def show(run: Run, entry_id: EntryId) -> None:
    """Show an entry as it was added."""
    with run.memory() as memory:
        entry = memory.get(entry_id)
    fields = asdict(replace(entry, superseded_by=None, stale=None))
    text = fields.pop("text")
    details = [f"{name:<9} {value}\n" for name, value in fields.items() if value not in (None, {})]
    run.out.emit(entry, *((line, "dim") for line in details), "\n", text, (_mark(entry), "yellow"))


@command(commands)
def pin(
    run: Run,
    entry_id: EntryId,
    off: Annotated[bool, typer.Option("--off", help="Pin it no longer.")] = False,
) -> None:
    """Put an entry before all others in contexts and briefs."""
    with run.memory() as memory:
        entry = memory.pin(entry_id, not off)
    run.out.emit(entry, f"{'unpinned' if off else 'pinned'} {entry.id} in {entry.source}")


@command(commands)
def supersede(
    run: Run,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The entry that holds no longer.")],
    new: Annotated[
        str | None, typer.Argument(metavar="[NEW]", help="The entry that holds instead.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Let the old one hold again.")] = False,
) -> None:
    """Say that an entry holds instead of another; both stay, and the older one is marked."""
    if undo == (new is not None):
        raise InputError("give the entry that holds instead, or --undo")
    with run.memory() as memory:
        memory.supersede(old, new)
    done = f"{old} holds again" if undo else f"{old} is superseded by {new}"
    run.out.emit({"old": old, "new": new}, done)


@command(commands)
def forget(
    run: Run,
    where: Filters,
    entry_ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="The entries.", show_default=False),
    ] = None,
    yes: Yes = False,
    replies: Annotated[
        bool, typer.Option("--replies", help="Also what a model said that may quote them.")
    ] = False,
) -> None:
    """Erase entries, by id or filter: from the journal, every view and the file's bytes."""
    with run.memory() as memory:
        _say_what_will_go(memory, entry_ids or [], where)
        if not yes:
            confirm()
        done = memory.forget(*(entry_ids or []), replies=replies, **where.of(memory))
    views = "".join(f", {count} of {view}" for view, count in done.views.items() if count)
    run.out.emit(done, f"forgot {counted(len(done.entries), 'entry', 'entries')}{views}")
    if left := [reply for reply in done.replies if reply not in done.entries]:
        note(
            f"{counted(len(left), 'reply', 'replies')} may quote it; to erase what quotes it, too, "
            f"give --replies, or now: treering forget {' '.join(left)}"
        )
    if files := [path for path in done.files if Path(path).exists()]:
        more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
        note(
            f"these files may still hold the text: {', '.join(files[:SHOWN])}{more}. Imports and "
            "hooks leave out what was forgotten; `treering add` of a file brings it back"
        )
    if not done.scrubbed:
        note(STILL_READ)


@command(commands)
def fit(run: Run) -> None:
    """Choose the relations' weights for this space from its own text, without labels."""
    with run.memory() as memory, run.out.progress("scoring pseudo-queries") as progress:
        reports = memory.fit(progress=progress)
    for report in reports:
        record = asdict(report) | {"gain": report.gain}
        run.out.emit(record, *_report(report))


@command(commands)
def reembed(
    run: Run,
    model: Annotated[
        str, typer.Argument(help="The new embedding model, written as for --embedder.")
    ],
) -> None:
    """Change the embedding model; the old one answers until the new one is complete."""
    with run.memory() as memory, run.out.progress("embedding") as progress:
        stats = memory.reembed(model, progress=progress)
    run.out.emit(stats, *_stats(stats))


@command(commands)
def settle(
    run: Run,
    upgrade: Annotated[
        bool,
        typer.Option("--upgrade", help="Let the model rewrite summaries made without one."),
    ] = False,
) -> None:
    """Do all pending work now: embeddings, summaries."""
    with run.memory() as memory, run.out.progress("settling") as progress:
        stats = memory.settle(progress=progress, upgrade=upgrade)
    run.out.emit(stats, *_stats(stats))


@command(commands)
def rebuild(
    run: Run,
    views: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[VIEW]...",
            help="fragments, tree, memo, facts, code, or a view of another package. "
            "Default: all that can be.",
        ),
    ] = None,
) -> None:
    """Make views again from the journal; searching goes on meanwhile.

    What a language model wrote is made again by one, and kept as it is if none is configured.
    Interrupted, it goes on where it was when it is called again.
    """
    with run.memory() as memory, run.out.progress("rebuilding") as progress:
        stats = memory.rebuild(*views or (), progress=progress)
    what = ", ".join(views) if views else "all views"
    run.out.emit(
        stats, f"rebuilt {what} of space {stats.space!r} from the journal\n\n", *_stats(stats)
    )


@command(commands)
def export(
    run: Run,
    file: Annotated[
        str, typer.Argument(help="Where to write, or - for standard output.")
    ] = stdin.STDIN,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    all_spaces: Annotated[
        bool, typer.Option("--all-spaces", help="Write every space of the file, not one.")
    ] = False,
) -> None:
    """Write the space, or all, as lines of JSON, which `treering import` takes in."""
    with run.memory(whole=all_spaces) as memory:
        lines = export_all(run, memory) if all_spaces else memory.export()
        if file == stdin.STDIN:
            run.out.lines(lines)
            return
        count = _write(Path(file), lines, force)
    run.out.emit(
        {"file": file, "entries": count},
        f"wrote {counted(count, 'entry', 'entries')} to {file}",
    )


@command(commands)
def stats(run: Run) -> None:
    """Show what a space holds, its model, pending work, and what models have cost."""
    with run.memory(may_be_empty=True) as memory:
        figures = memory.stats()
    run.out.emit(figures, *_stats(figures))


def _brief(entry: Entry) -> Iterator[Part]:
    yield entry.id, "dim"
    yield f"  {entry.at or entry.added:%Y-%m-%d %H:%M}  "
    yield f"{short_path(entry.source)} #{entry.position}", "cyan"
    yield f"  {entry.speaker}:" if entry.speaker else ""
    flat = " ".join(entry.text[: 4 * EXCERPT_CHARS].split())
    yield f"  {flat[:EXCERPT_CHARS]}{'…' if len(flat) > EXCERPT_CHARS else ''}"
    yield " ".join(["", *_mark(entry).split()]), "yellow"


def _mark(entry: Entry) -> str:
    """What is known against an entry, if anything."""
    from treering.search.context import against  # here, as the help needs no numerics

    return against(entry)


def _say_what_will_go(memory: Memory, entry_ids: Sequence[str], where: Filters) -> None:
    """List on stderr what will be erased. Raises UnknownName, InputError without a condition."""
    conditions = where.of(memory)
    if not entry_ids and not conditions:
        raise InputError("no entries are chosen to forget", hint=Hint.CHOOSE_ENTRIES)
    matching = (
        entry for entry in memory.entries(**conditions) if not entry_ids or entry.id in entry_ids
    )
    try:
        _say_which(matching, entry_ids)
    except JournalCorrupt as error:  # which must not keep it from being forgotten
        note(f"what will be erased cannot be shown: {error}")


def _say_which(matching: Iterator[Entry], entry_ids: Sequence[str]) -> None:
    first = list(islice(matching, SHOWN))
    if not first:
        kind = UnknownEntry if entry_ids else UnknownName
        raise kind("nothing to forget: no entry matches")
    count = len(first) + sum(1 for _ in matching)
    note(f"{counted(count, 'entry', 'entries')} will be erased for good:")
    for entry in first:
        note("  ", *_brief(entry))
    if count > len(first):
        note(f"  … and {count - len(first):,} more")


def confirm() -> None:
    """Ask whether to erase; end the command if not. An answer may be piped in, as to ``rm -i``.

    Raises InputError if nobody can answer, or what is piped in is no answer.
    """
    agrees = _is_piped_yes() if stdin.is_piped() else _is_typed_yes()
    if not agrees:
        note("nothing was erased")
        raise typer.Exit(0)


def _is_typed_yes() -> bool:
    try:
        return typer.confirm("Erase?", err=True)
    except typer.Abort as error:
        note("")  # the line of the question is not ended yet
        if isinstance(error.__context__, EOFError):
            raise InputError(NOBODY) from error
        note("nothing was erased")
        raise


def _is_piped_yes() -> bool:
    sys.stderr.write("Erase? [y/N]: ")
    sys.stderr.flush()
    answer = stdin.answer(ANSWER_S)
    note(printable(answer or ""))
    if answer is None:
        raise InputError(NOBODY)
    if answer.lower() not in _ANSWERS:
        raise InputError(f"{answer!r} is no answer: nothing was erased; give --yes, or pipe in a y")
    return _ANSWERS[answer.lower()]


def _report(report: FitReport) -> Iterator[Part]:
    yield report.kind, "bold"
    yield (
        f"  mean reciprocal rank on {report.queries // 2} held-out pseudo-queries: "
        f"{report.default:.3f} before, {report.fitted:.3f} fitted; "
    )
    yield "kept" if report.kept else "no gain: the relations stay as they are"
    for weighted in report.chosen:
        yield f"\n    α {weighted.alpha:g}  {weighted.relation}"


def _write(path: Path, lines: Iterator[str], force: bool) -> int:
    """Write lines to a file and return the number of entries. The file is complete or not there.

    Of a damaged memory it holds what can be read.
    """
    from treering.ingest.exchange import is_entry

    damaged: JournalCorrupt | None = None
    count = 0
    with new_file(path, force) as stream:
        try:
            for line in lines:
                stream.write(f"{line}\n")
                count += is_entry(line)
        except JournalCorrupt as error:  # which comes after all that can be read, to be rescued
            damaged = error
    if damaged is not None:
        raise damaged
    return count


@contextmanager
def new_file(path: Path, force: bool) -> Iterator[TextIO]:
    """A text for a file that only its owner may read; it is there once it is complete.

    Raises InputError.
    """
    refuse_target(path, force)
    try:
        with private_file(path) as stream:
            yield stream
    except OSError as error:  # which names the part, and that is no path the user gave
        raise InputError(f"cannot write {path}: {error.strerror}; write elsewhere") from error


def refuse_target(path: Path, force: bool) -> None:
    """Raise InputError for a file that is not to be written: one that is there, or a memory."""
    if path.exists() and not force:
        raise InputError(f"{path} is there already; give another name or --force")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder; make it, or write elsewhere")
    files.refuse_memory(path)


def _stats(stats: Stats) -> Sequence[Part]:
    from treering.views.pending import in_words

    model = f"{stats.model}, {stats.dimension} dimensions" if stats.model else "none yet"
    pending = ", ".join(in_words(*some) for some in stats.pending.items())
    rows = {
        "space": stats.space,
        "entries": f"{stats.entries:,} from {counted(stats.sources, 'source', 'sources')}",
        "fragments": f"{stats.fragments:,}, {stats.embedded:,} embedded",
        "model": model,
        "pending": pending or "none",
        "file": f"{stats.bytes / 1e6:,.1f} MB, all spaces together",
    }
    for cost in stats.spent:
        rows[f"spent: {cost.operation}"] = (
            f"{counted(cost.calls, 'call', 'calls')} of {cost.model}, "
            f"{cost.prompt_tokens:,} + {cost.completion_tokens:,} tokens"
        )
    return ["\n".join(f"{name:<14} {value}" for name, value in rows.items())]
