"""Commands that take something in: add, replace, import."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treering.cli import stdin
from treering.cli.moments import FORMS, FORMS_TO_COME, moment, moment_to_come
from treering.cli.options import EntryOptions, command, is_there
from treering.cli.output import counted, note, note_some, on_one_line
from treering.cli.run import Run
from treering.cli.whole_file import SpaceExport, parts
from treering.errors import InputError, TreeringError, UnknownName
from treering.ingest.secrets import Cleaner
from treering.ingest.transcripts.contract import ORIGINS
from treering.records import Receipt

if TYPE_CHECKING:
    from treering.ingest.transcripts.importing import ImportOptions

commands = typer.Typer()

_EMPTY_EXPORT = "the export is empty; give a file that `treering export` has written"


@command(commands)
def add(
    run: Run,
    about: EntryOptions,
    content: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files, folders, texts, or - for standard input (the default if it is piped).",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(help="What it is called. Default: the path, else 'notes' or 'chat'."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"Keep it until then, then erase it: {FORMS_TO_COME}."),
    ] = None,
    pin: Annotated[
        bool, typer.Option("--pin", help="Put it before all else in contexts and briefs.")
    ] = False,
    sync: Annotated[
        bool,
        typer.Option("--sync", help="Erase what was read from files of the folder that are gone."),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="With --sync, also if most files of the folder are gone."),
    ] = False,
    text: Annotated[
        bool, typer.Option("--text", help="Take arguments as texts even if they look like paths.")
    ] = False,
) -> None:
    """Remember texts, files, folders, or conversations.

    PDF, Word, HTML, EPUB and spreadsheets are read with the extra `documents`; the source names the
    page, as in lease.pdf#2.

    A conversation is a .json or .jsonl file, or piped lines, of messages with "role" and "content"
    (and "name", "at", "session", "metadata" if you like). Adding the same again changes nothing;
    a file that has changed replaces what it left before.
    """
    if sync and text:
        raise InputError("--sync is for a folder, and --text for a text; leave one of them out")
    arguments = content or [_piped()]
    contents = [_folder(run, a) if sync else _content(run, a, text) for a in arguments]
    described = about.chosen() | {"expires": moment_to_come(expires, "--expires")}
    receipts: list[Receipt] = []
    with (
        run.memory(create=True) as memory,
        run.out.progress("indexing") as progress,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # what is a path and what a text was decided above
        try:
            for item in contents:
                receipt = memory.add(
                    _from_stdin() if item == stdin.STDIN else item,
                    source=source,
                    pin=pin,
                    sync=sync,
                    force=force,
                    progress=progress,
                    **described,
                )
                receipts.append(receipt)
        except TreeringError:
            _say_what_was_added(receipts, len(contents))
            raise
    if not text:
        _note_texts(contents, about.mask)
    _show(run, Receipt.total(receipts), sync)


@command(commands)
def replace(
    run: Run,
    entry_id: Annotated[str, typer.Argument(metavar="ID", help="The entry.")],
    text: Annotated[str, typer.Argument(help="Its new text, or - for standard input.")],
) -> None:
    """Give an entry another text; its place, time, speaker and metadata stay."""
    with run.memory() as memory:
        entry = memory.replace(entry_id, stdin.argument(text))
    run.out.emit(entry, f"replaced {entry.id} in {entry.source}")


@command(commands, name="import")
def import_(
    run: Run,
    file: Annotated[
        str, typer.Argument(help="A file, a folder or a .zip; or - for an export piped in.")
    ] = stdin.STDIN,
    origin: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Take this kind only: {', '.join(ORIGINS)}."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help=f"Only messages from then on: {FORMS}.")
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Only what a coding agent was told in this folder."),
    ] = None,
    mask: Annotated[
        bool | None,
        typer.Option(
            help="Store no keys, passwords and <private> passages of conversations. "
            "Default: --mask."
        ),
    ] = None,
    settings: Annotated[
        bool,
        typer.Option(
            "--settings", help="Take the settings of an export into a space that has entries, too."
        ),
    ] = False,
    again_forgotten: Annotated[
        bool,
        typer.Option("--again-forgotten", help="Also messages that were forgotten in this space."),
    ] = False,
) -> None:
    """Take in past conversations, or what `treering export` wrote.

    Reads the transcripts of Claude Code and Codex, the exports of ChatGPT, claude.ai, WhatsApp,
    Slack and Telegram, and mail (.eml, .mbox); which it is, is told by the content. Taking in the
    same again changes nothing. What is left out is counted by reason. An export is taken in as a
    whole or not at all, one of all spaces space by space, each under its name; conversations a few
    hundred messages at a time. Only conversations take --origin, --since, --project and --mask. The
    settings of an export are for a space without entries; another one takes them with --settings.
    """
    from treering.ingest.transcripts.importing import ImportOptions, is_export

    given = {"origin": origin, "since": since, "project": project, "mask": mask}
    since = moment(since)
    if not file:
        raise InputError("the name of the file is empty; `.` is the current folder")
    if file == stdin.STDIN or is_export(Path(file)):
        _refuse_options(given)
        _import_export(run, file, settings=settings, again_forgotten=again_forgotten)
        return
    if settings:
        raise InputError("--settings is for an export; conversations have none")
    options = ImportOptions.of(origin, since, project, mask is not False)
    _import_conversations(run, Path(file), options, again_forgotten)


def _import_conversations(
    run: Run, path: Path, options: ImportOptions, again_forgotten: bool
) -> None:
    from treering.ingest.transcripts.importing import ensure_conversations

    if not run.is_there:
        ensure_conversations(path, options)  # or a memory would be made for nothing
    with run.memory(create=True) as memory, run.out.progress("importing") as progress:
        receipt = memory.import_(
            path, again_forgotten=again_forgotten, progress=progress, **options.as_arguments()
        )
        _show(run, receipt)


def _import_export(run: Run, name: str, *, settings: bool, again_forgotten: bool) -> None:
    """Take in an export. A memory is made only for one that can be read to its end."""
    if run.is_there:
        _take_in_export(
            run, stdin.lines_of(name), settings=settings, again_forgotten=again_forgotten
        )
        return
    with stdin.kept(name) as lines:
        _check_export(run, lines())
        _take_in_export(run, lines(), settings=settings, again_forgotten=again_forgotten)


def _check_export(run: Run, lines: Iterator[str]) -> None:
    """Raise InputError for an export that cannot be taken in as a whole."""
    from treering.ingest.intake import check_export

    is_empty = True
    for part in parts(lines):
        _refuse_other_space(run, part)
        check_export(part.lines)
        is_empty = False
    if is_empty:
        raise InputError(_EMPTY_EXPORT)


def _take_in_export(
    run: Run, lines: Iterator[str], *, settings: bool, again_forgotten: bool
) -> None:
    """Take in an export; one of several spaces into the spaces that it names."""
    receipts = []
    for part in parts(lines):
        _refuse_other_space(run, part)
        chosen = run.in_space(part.space) if part.space else run
        with chosen.memory(create=True) as memory, run.out.progress("importing") as progress:
            receipt = memory.import_(
                part.lines, settings=settings, again_forgotten=again_forgotten, progress=progress
            )
            receipts.append(receipt)
    if not receipts:
        raise InputError(_EMPTY_EXPORT)
    _show(run, Receipt.total(receipts))


def _refuse_other_space(run: Run, part: SpaceExport) -> None:
    """Raise InputError for a space that the user did not name."""
    if part.space and run.named_space not in (None, part.space):
        raise InputError(
            f"the export is of space {part.space!r}, not {run.named_space!r}: leave --space "
            "and TREERING_SPACE out, or export one space alone"
        )


def _refuse_options(given: Mapping[str, str | bool | None]) -> None:
    """Raise InputError for options that an export would not obey."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise InputError(
                f"--{name} is for conversations; an export is taken in as it is, as a whole: "
                f"leave --{name} out"
            )


def _piped() -> str:
    if not stdin.is_piped():
        raise InputError("nothing to add: give a text, a file or a folder, or pipe something in")
    return stdin.STDIN


def _content(run: Run, argument: str, as_text: bool) -> str | Path:
    """The text or path that an argument means. Raises InputError for a path that is not there."""
    if as_text or argument == stdin.STDIN:
        return argument
    _refuse_empty(argument)
    path = Path(argument)
    if is_there(path):
        return path
    if _is_broken_link(path):
        raise InputError(f"{argument!r} is a link to what is not there; to remember it, add --text")
    if not _has_space(argument) and ("/" in argument or path.suffix):
        rest = _still_found(run, argument) or "to remember it as a text, add --text"
        raise InputError(f"there is no file or folder {argument!r}; {rest}")
    return argument


def _note_texts(contents: Sequence[str | Path], mask: bool) -> None:
    """Say which words were taken as texts: one may have been meant as the name of a file."""
    for content in contents:
        if isinstance(content, str) and content != stdin.STDIN and not _has_space(content):
            shown = Cleaner().clean(content) if mask else content
            note(f"remembered as a text: there is no file or folder {shown!r} here")


def _has_space(text: str) -> bool:
    return any(map(str.isspace, text))


def _is_broken_link(path: Path) -> bool:
    """Whether a path, which leads nowhere, is a link."""
    try:
        return path.is_symlink()
    except (OSError, ValueError):  # a text that cannot be a path
        return False


def _folder(run: Run, argument: str) -> Path:
    """The folder that is to be synced. Raises InputError for what is none."""
    _refuse_empty(argument)
    path = Path(argument)
    if not is_there(path):
        rest = _still_found(run, argument) or "leave --sync out for a text or piped lines"
        raise InputError(f"--sync is for a folder, and there is no folder {argument!r}; {rest}")
    if not path.is_dir():
        raise InputError(f"--sync is for a folder, and {argument!r} is a file; leave --sync out")
    return path


def _refuse_empty(argument: str) -> None:
    if not argument:  # as a path it would be the current folder: a variable that is not set
        raise InputError("there is nothing to add in an empty argument; `.` is the current folder")


def _still_found(run: Run, argument: str) -> str:
    """What to do about what was read from a file or folder that is gone; nothing if none was."""
    if run.path is None or not run.path.exists():
        return ""
    try:
        whole = str(Path(argument).resolve())
    except (OSError, ValueError):  # a text that cannot be a path
        return ""
    with run.memory(whole=True) as memory, suppress(UnknownName):
        for source, name in ((f"{whole}/", f"{argument.rstrip('/')}/"), (whole, argument)):
            ids = [entry.id for entry in memory.entries(source=source)]
            if ids:
                # The name is shorter, but may also be that of another folder.
                is_same = ids == [entry.id for entry in memory.entries(source=name)]
                shown = shlex.quote(name if is_same else source)
                held = counted(len(ids), "entry", "entries")
                return f"{held} read from it before can be erased: treering forget --source {shown}"
    return ""


def _from_stdin() -> str | Iterator[Mapping[str, Any]]:
    """Messages, if the first line is one: a message a line. Otherwise one text."""
    lines = stdin.piped_lines()
    first = next(lines, "")
    if _is_message(first):
        return _messages(chain([first], lines))
    return first + "".join(lines)


def _is_message(line: str) -> bool:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and "role" in message and "content" in message


def _messages(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(lines, start=1):
        if line.isspace():
            continue
        try:
            yield json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"standard input: line {number} is not JSON ({error})") from error


def _say_what_was_added(receipts: list[Receipt], arguments: int) -> None:
    if receipts:
        note(f"treering: {len(receipts)} of {arguments} arguments were added before this failed:")


def _say_what_is_gone(receipt: Receipt, erased: bool) -> None:
    note_some([f"{'erased' if erased else 'gone'}: {on_one_line(name)}" for name in receipt.gone])
    if erased:
        return
    erasing = "add --sync to erase it"
    if receipt.moved:  # what is gone may be of a folder that was renamed, which is known this once
        name = shlex.quote(receipt.gone[0]) if len(receipt.gone) == 1 else "NAME"
        erasing = f"to erase it: treering forget --source {name}"
    note(f"what was read from them is still found; {erasing}")


def _show(run: Run, receipt: Receipt, synced: bool = False) -> None:
    changes = {
        "unchanged": receipt.unchanged,
        "removed": receipt.removed,
        "skipped": len(receipt.skipped),
        "masked": receipt.masked,
        "private": receipt.private,
        "moved": receipt.moved,
    }
    others = "".join(f", {count:,} {what}" for what, count in changes.items() if count)
    run.out.emit(receipt, f"added {counted(receipt.added, 'entry', 'entries')}{others}")
    note_some(
        [f"skipped {on_one_line(skipped.path)}: {skipped.reason}" for skipped in receipt.skipped]
    )
    if receipt.gone:
        _say_what_is_gone(receipt, synced)
    for reason, count in receipt.omitted.items():
        note(f"left out: {reason} ({count:,})")
    if receipt.pending:
        note(f"{receipt.pending:,} wait to be indexed; `treering settle` goes on")
