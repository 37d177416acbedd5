"""Commands on entries: add, replace, list, show, pin, supersede, retract, forget."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treering.cli import stdin
from treering.cli.filters import EntryOptions, Filters
from treering.cli.moments import FORMS_TO_COME
from treering.cli.options import MomentToCome, Text, command, opt
from treering.cli.output import (
    Part,
    line_width,
    note,
    note_some,
    plural,
    printable,
    short_path,
    short_source,
    shown_path,
)
from treering.cli.run import Run
from treering.errors import InputError, JournalCorrupt, TreeringError, UnknownEntry, UnknownName
from treering.files import exists
from treering.hints import Hint
from treering.ingest.secrets import Cleaner
from treering.records import Correction, Entry, Receipt
from treering.text import storable

if TYPE_CHECKING:
    from treering.memory import Memory

commands = typer.Typer()

MIN_CHARS = 10  # of an entry's text on its line
SHOWN = 5  # entries named before they are forgotten; a count stands for the others
STILL_READ = (
    "another process is reading the file, or much is to be rewritten: erased text may still be in "
    "its bytes; run `treering settle` when that process is done"
)


@command(
    commands,
    content=opt(
        "Files, folders, texts, or - for standard input (the default if it is piped).",
        show_default=False,
    ),
    source="Its name. Default: the path, else 'notes' or 'chat'.",
    expires=f"Keep it until then, then erase it: {FORMS_TO_COME}.",
    pin="Put it before all else in contexts and briefs.",
    sync="Erase what was read from files of the folder that are gone.",
    force="With --sync, also if most files of the folder are gone.",
    text="Take arguments as texts even if they look like paths.",
    propose=opt("Let it wait until `treering retract --undo` accepts it.", metavar="NAME"),
)
def add(
    run: Run,
    about: EntryOptions,
    content: Annotated[list[str] | None, typer.Argument()] = None,
    source: str | None = None,
    expires: MomentToCome = None,
    pin: bool = False,
    sync: bool = False,
    force: bool = False,
    text: bool = False,
    propose: str | None = None,
) -> None:
    """Remember texts, files, folders, or conversations.

    PDF, Word, HTML, EPUB and spreadsheets are read with the extra `documents`; the source names the
    page, as in lease.pdf#2.

    A conversation is a .json or .jsonl file, or piped lines, of messages with "role" and "content"
    (and "name", "at", "session", "metadata" if you like). Adding the same again changes nothing;
    a file that has changed replaces its earlier entries.
    """
    from treering.ingest.drafts import Envelope  # it imports numerics, which help needs not

    if sync and text:
        raise InputError("--sync is for a folder, and --text for a text; leave one of them out")
    if not content and not stdin.is_piped():
        raise InputError("nothing to add: give a text, a file or a folder, or pipe something in")
    arguments = content or [stdin.STDIN]
    contents = [_content(argument, as_text=text, sync=sync) for argument in arguments]
    described = about.arguments() | {"expires": expires}
    Envelope.check(**described)  # it raises before a file is made
    described |= {"source": source, "pin": pin, "sync": sync, "force": force, "propose": propose}
    with run.memory(create=True) as memory, run.out.progress("indexing") as progress:
        receipt = _add_each(memory, contents, **described, progress=progress)
    for item in contents:
        if not text and isinstance(item, str) and item != stdin.STDIN and not _has_space(item):
            shown = Cleaner().clean(item) if about.mask else item
            note(f"remembered as a text: there is no file or folder {shown!r} here")
    print_receipt(run, receipt, sync)


def _add_each(memory: Memory, contents: Sequence[str | Path], **options: Any) -> Receipt:
    """Add contents one by one, and return what all of them did."""
    receipts: list[Receipt] = []
    for item in contents:
        try:
            content = _from_stdin() if item == stdin.STDIN else item
            receipts.append(memory.add(content, **options))
        except TreeringError:
            if receipts:
                added = f"{len(receipts)} of {len(contents)} arguments"
                note(f"treering: {added} were added before this failed:")
            raise
    return Receipt.total(receipts)


@command(commands, "replace", text="Its new text, or - for standard input.")
def replace_(run: Run, entry_id: str, text: Text) -> None:
    """Give an entry another text; its place, time, speaker and metadata stay."""
    with run.memory() as memory:
        entry = memory.replace(entry_id, text)
    run.out.emit(entry, f"replaced {entry.id} in {entry.source}")


@command(
    commands,
    "list",
    limit=opt("How many at most.", min=1),
    sources="List sources with their numbers of entries.",
    withheld="List retracted entries, and those that wait for approval.",
)
def list_(
    run: Run,
    where: Filters,
    limit: int | None = None,
    sources: bool = False,
    withheld: bool = False,
) -> None:
    """List entries in the order they were added."""
    with run.memory(may_be_empty=True) as memory:
        conditions = where.where(memory)
        if withheld:
            for each in memory.withheld(**conditions)[:limit]:
                what = f"  {each.correction.what}"
                run.out.emit(each, *_excerpt(each.entry, what))
            return
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
            run.out.emit(entry, *_excerpt(entry))


@command(commands, history="Show its corrections: when, by whom and why.")
def show(run: Run, entry_id: str, history: bool = False) -> None:
    """Show an entry as it was added."""
    with run.memory() as memory:
        if history:
            for change in memory.history(entry_id):
                run.out.emit(change, *_correction(change))
            return
        entry = memory.get(entry_id)
    fields = asdict(entry)
    text = fields.pop("text")
    for name in ("superseded_by", "stale"):  # the mark below the text says it
        del fields[name]
    details = [f"{name:<9} {value}\n" for name, value in fields.items() if value not in (None, {})]
    run.out.emit(entry, *((line, "dim") for line in details), "\n", text, (_mark(entry), "yellow"))


@command(commands, off="Remove the pin.")
def pin(run: Run, entry_id: str, off: bool = False) -> None:
    """Put an entry before all others in contexts and briefs."""
    with run.memory() as memory:
        entry = memory.pin(entry_id, not off)
    run.out.emit(entry, f"{'unpinned' if off else 'pinned'} {entry.id} in {entry.source}")


@command(
    commands,
    old=opt("The entry that holds no longer.", metavar="OLD"),
    new=opt("The entry that holds instead.", metavar="[NEW]"),
    undo="Let the old one hold again.",
)
def supersede(
    run: Run,
    old: str,
    new: Annotated[str | None, typer.Argument()] = None,
    undo: bool = False,
) -> None:
    """Say that an entry holds instead of another; both stay, and the older one is marked."""
    if undo == (new is not None):
        raise InputError("give the entry that holds instead, or --undo")
    with run.memory() as memory:
        memory.supersede(old, new)
    done = f"{old} holds again" if undo else f"{old} is superseded by {new}"
    run.out.emit({"old": old, "new": new}, done)


@command(
    commands,
    reason=opt("The reason, for `treering show --history`.", metavar="TEXT"),
    undo="Put it back in its place, or accept an entry that was proposed.",
)
def retract(run: Run, entry_id: str, reason: str | None = None, undo: bool = False) -> None:
    """Withhold an entry: nothing finds it until --undo. `treering forget` erases it.

    `treering list --withheld` lists such entries, and those that wait for approval.
    """
    if undo and reason is not None:
        raise InputError("--reason is for a retraction; leave it out with --undo")
    with run.memory() as memory:
        if undo:
            memory.restore(entry_id)
            last = memory.history(entry_id)[-1]
        else:
            last = memory.retract(entry_id, reason)
    run.out.emit(last, f"{last.what} {entry_id}")
    _note_copies(last.copies)


@command(
    commands,
    entry_ids=opt("The entries.", metavar="ID..."),
    to=opt("The space, which must exist.", metavar="SPACE"),
)
def share(run: Run, entry_ids: list[str], to: str | None = None) -> None:
    """Copy entries to another space of the memory; the copies name where they are from.

    `treering forget --copies` erases an entry with its copies.
    """
    if to is None:
        raise InputError("give --to SPACE, the space to copy the entries to", param="to")
    with run.memory() as memory:
        receipt = memory.share(entry_ids, to)
    left = len(set(entry_ids)) - receipt.added
    more = f"; {left:,} already there" if left else ""
    run.out.emit(receipt, f"copied {plural(receipt.added, 'entry', 'entries')} to {to!r}{more}")


@command(
    commands,
    entry_ids=opt("The entries.", metavar="[ID]...", show_default=False),
    replies="Also replies of a model that may quote them.",
    copies="Also the copies that were shared with other spaces.",
)
def forget(
    run: Run,
    where: Filters,
    entry_ids: Annotated[list[str] | None, typer.Argument()] = None,
    yes: bool = False,
    replies: bool = False,
    copies: bool = False,
) -> None:
    """Erase entries, by id or filter: from the journal, every view and the file's bytes."""
    ids = entry_ids or []
    with run.memory() as memory:
        conditions = where.where(memory)
        may_be_gone, finds_replies = copies and bool(ids), replies and not run.is_served
        _print_what_will_go(memory, ids, conditions, finds_replies, may_be_gone=may_be_gone)
        if replies and run.is_served:
            note("  and replies that may quote them")
        if not yes:
            stdin.confirm()
        done = memory.forget(*ids, replies=replies, copies=copies, **conditions)
    gone = {"entries": len(done.entries), **done.views}
    parts = (plural(count, _singular(kind), kind) for kind, count in gone.items() if count)
    run.out.emit(done, f"forgot {', '.join(parts)}")
    if left := [reply for reply in done.replies if reply not in done.entries]:
        note(
            f"{plural(len(left), 'reply', 'replies')} of a model may quote it; to erase "
            f"{'it' if len(left) == 1 else 'them'}, too: treering forget {' '.join(left)} (next "
            "time, add --replies)"
        )
    _note_copies(done.copies)
    if files := [path for path in done.files if Path(path).exists()]:
        more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
        note(
            f"files that may still hold the text are not changed: {', '.join(files[:SHOWN])}{more}."
            " Imports and hooks leave out a forgotten text, but `treering add` adds it again"
        )
    if not done.scrubbed:
        note(STILL_READ)


def _singular(kind: str) -> str:
    return f"{kind[:-3]}y" if kind.endswith("ies") else kind.removesuffix("s")


def _note_copies(count: int) -> None:
    if count:
        stay = plural(count, "copy in another space stays", "copies in other spaces stay")
        note(f"{stay}; `treering forget ID --copies` erases an entry with its copies")


def _print_what_will_go(
    memory: Memory,
    entry_ids: Sequence[str],
    conditions: Mapping[str, Any],
    replies: bool,
    *,
    may_be_gone: bool,
) -> None:
    """List what will be erased. Raise UnknownName, and InputError without a condition.

    Entries that ``may_be_gone`` may have copies all the same.
    """
    if not entry_ids and not conditions:
        raise InputError("no entries are chosen to forget", hint=Hint.CHOOSE_ENTRIES)
    withheld = (each.entry for each in memory.withheld(**conditions))
    matching = (
        entry
        for entry in chain(memory.entries(**conditions), withheld)
        if not entry_ids or entry.id in entry_ids
    )
    try:
        first = list(islice(matching, SHOWN))
        if not first and may_be_gone:
            return
        if not first:
            kind = UnknownEntry if entry_ids else UnknownName
            raise kind("nothing to forget: no entry matches")
        found = [entry.id for entry in chain(first, matching)]
        quoting = _quoting_replies(memory, found) if replies else []
    except JournalCorrupt as error:  # a damaged entry can be forgotten all the same
        note(f"the entries to erase cannot be shown: {error}")
        return
    count = len(found) + len(quoting)
    note(f"{plural(count, 'entry', 'entries')} will be erased for good:")
    named = [*first, *quoting[: SHOWN - len(first)]]
    for entry in named:
        note("  ", *_excerpt(entry))
    if count > len(named):
        note(f"  … and {count - len(named):,} more")


def _quoting_replies(memory: Memory, entry_ids: Sequence[str]) -> list[Entry]:
    from treering.forgetting import find_replies
    from treering.memory import memory_parts

    return [memory.get(reply) for reply in find_replies(memory_parts(memory).space, entry_ids)]


def _correction(change: Correction) -> Iterator[Part]:
    """Yield a correction on one line."""
    yield f"{change.at:%Y-%m-%d %H:%M}  "
    yield change.what, "cyan"
    yield f" by {change.by}" if change.by else ""
    yield f": {change.reason or change.other}" if change.reason or change.other else ""


def _excerpt(entry: Entry, what: str = "") -> Iterator[Part]:
    """Yield an entry on one line that fits the terminal."""
    head = f"  {entry.at or entry.added:%Y-%m-%d}  "
    source = f"{short_source(entry.source)} #{entry.position}"
    speaker = f"  {entry.speaker}:" if entry.speaker else ""
    mark = what or " ".join(["", *_mark(entry).split()])
    room = max(line_width() - sum(map(len, (entry.id, head, source, speaker, mark))) - 2, MIN_CHARS)
    flat = printable(" ".join(entry.text[: 4 * room].split()))
    yield entry.id, "dim"
    yield head
    yield source, "cyan"
    yield speaker
    yield f"  {flat if len(flat) <= room else f'{flat[: room - 1]}…'}"
    yield mark, "yellow"


def _mark(entry: Entry) -> str:
    """Return the remark that an entry is superseded or out of date, if it is."""
    from treering.search.context import against  # here, as the help needs no numerics

    return against(entry)


def print_receipt(run: Run, receipt: Receipt, synced: bool = False) -> None:
    """Print the counts of a receipt, and note skipped and missing files."""
    run.out.emit(
        receipt, f"added {plural(receipt.added, 'entry', 'entries')}{other_counts(receipt)}"
    )
    note_skipped(receipt)
    if receipt.gone:
        word = "erased" if synced else "gone"
        note_some([f"{word}: {shown_path(name)}" for name in receipt.gone])
    if receipt.gone and not synced:
        erasing = "add --sync to erase it"
        if receipt.moved:  # a renamed folder is known only this once
            name = shlex.quote(receipt.gone[0]) if len(receipt.gone) == 1 else "NAME"
            erasing = f"to erase it: treering forget --source {name}"
        note(f"their text is still in the memory; {erasing}")
    for reason, count in receipt.omitted.items():
        note(f"left out: {reason} ({count:,})")


def other_counts(receipt: Any) -> str:
    """Return the counts of a receipt, or of a report, that are not 0."""
    counts = {
        name: getattr(receipt, name)
        for name in ("unchanged", "removed", "skipped", "masked", "private", "moved")
    }
    counts["skipped"] = len(counts["skipped"])
    return "".join(f", {count:,} {name}" for name, count in counts.items() if count)


def note_skipped(receipt: Any) -> None:
    """Note the files that a receipt, or a report, skipped, and how many entries are pending."""
    note_some([f"skipped {shown_path(file.path)}: {file.reason}" for file in receipt.skipped])
    if receipt.pending:
        note(f"{receipt.pending:,} wait to be indexed; `treering settle` goes on")


# ---------------------------------------------------------------------- what `add` is given


def _content(argument: str, *, as_text: bool, sync: bool) -> str | Path:
    """Return the text or path that an argument means. Raise InputError for a missing path."""
    if argument == stdin.STDIN and not sync:
        return argument
    if not argument:  # as a path it would be the current folder: a variable that is not set
        raise InputError(
            "an argument is empty; give a text or a path, such as `.` for the current folder"
        )
    path = Path(argument)
    if exists(path) and not as_text:
        if sync and not path.is_dir():
            raise InputError(f"--sync is for a folder, and {argument!r} is a file; leave it out")
        return path
    is_path = sync or (not _has_space(argument) and ("/" in argument or path.suffix))
    if is_path and not as_text:
        raise InputError(
            f"there is no file or folder {argument!r}; to remember it as a text, add --text"
        )
    text = storable(argument)
    if text != argument:
        note("bytes that are not UTF-8 were replaced by U+FFFD")
    return text


def _has_space(text: str) -> bool:
    return any(map(str.isspace, text))


def _from_stdin() -> str | Iterator[Mapping[str, Any]]:
    """Return messages, one a line, if the first line is a message. Otherwise one text."""
    from treering.ingest.files import parse_lines  # it imports numerics, which help needs not

    lines = stdin.piped_lines()
    first = next(lines, "")
    try:
        message = json.loads(first)
    except (ValueError, RecursionError):
        message = None
    if isinstance(message, dict) and "role" in message and "content" in message:
        return parse_lines(chain([first], lines), "standard input")
    return first + "".join(lines)
