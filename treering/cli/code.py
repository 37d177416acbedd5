"""``treering code``: index, search, record work on code, and guard against undoing it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treering import files
from treering.cli import stdin
from treering.cli.failures import FOUND
from treering.cli.options import command, options_of
from treering.cli.output import Part, counted, note
from treering.cli.run import Run
from treering.cli.upkeep import Yes, confirm
from treering.errors import InputError
from treering.records import Mode
from treering.views.code.guard.check import check as compare
from treering.views.code.guard.report import Reversal
from treering.views.code.index.code_index import ALPHA, CodeHit
from treering.views.code.memory import CodeMemory
from treering.views.code.parse.statements import CodeStatement
from treering.views.code.rounds.rounds import story_of
from treering.views.code.rounds.session import SessionBlock

if TYPE_CHECKING:
    from treering.memory import Memory

SHORT = 9
"""Characters of an id that are shown: enough to cite it by."""

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        metavar="FOLDER",
        help="Which repository, where several are indexed. Default: that of the current folder.",
    ),
]


@app.callback()
def code() -> None:
    """The code of repositories: index, search and map it, and remember the work on it."""


@command(app)
def index(
    run: Run,
    root: Annotated[str, typer.Argument(help="The root of a working tree.")] = ".",
    embed: Annotated[
        bool | None,
        typer.Option("--embed/--no-embed", help="Embed fragments too. Default: as it was, or no."),
    ] = None,
) -> None:
    """Take in a repository; only changed files are parsed."""
    if not root:
        raise InputError("the root is empty; `.` is the current folder")
    with run.memory(create=True) as memory, run.out.progress(f"indexing {root}") as progress:
        receipt = memory.code.index(root, embed=embed, progress=progress)
    counts = {
        "added": len(receipt.added),
        "changed": len(receipt.changed),
        "removed": len(receipt.removed),
        "unchanged": receipt.unchanged,
    }
    run.out.emit(receipt, ", ".join(f"{count:,} {what}" for what, count in counts.items()))
    for skipped in receipt.skipped:
        note(f"skipped {skipped.path}: {skipped.reason}")


@command(app)
def search(
    run: Run,
    query: Annotated[str, typer.Argument(help="What the code is for, or - for standard input.")],
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="How many fragments.")] = 10,
    near: Annotated[
        str | None, typer.Option(metavar="PATH[:LINE]", help="Where the code will go.")
    ] = None,
    mode: Annotated[
        Mode | None, typer.Option(help="Own score. Default: hybrid if embedded, else lexical.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="Weight of the code relation; 0 for none.")] = ALPHA,
    path: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Only files at it, as in .gitignore: src/, '*.py', '!tests/'; may be repeated.",
        ),
    ] = None,
    root: Root = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the terms that each score is the sum of.")
    ] = False,
) -> None:
    """Find the code that matters to an instruction, best first."""
    with run.memory() as memory:
        hits = memory.code.search(
            stdin.argument(query),
            k=k,
            near=near,
            mode=mode,
            alpha=alpha,
            paths=path or None,
            root=_root(memory, root),
        )
    for hit in hits:
        run.out.emit(hit, *_hit(hit, explain))
    if not hits:
        note("nothing found")


@command(app, name="map")
def map_(
    run: Run,
    budget: Annotated[
        int, typer.Option(min=1, metavar="TOKENS", help="Tokens the map may have.")
    ] = 1000,
    root: Root = None,
) -> None:
    """Print the most called definitions of a repository within a token budget."""
    with run.memory() as memory:
        root = _root(memory, root)
        text = memory.code.map(budget=budget, root=root)
        is_empty = not text and not memory.code.map(budget=sys.maxsize, root=root)
    if text or run.out.as_json:
        run.out.emit({"map": text}, text)
    if is_empty:
        note("there are no definitions: no indexed file has any in a language that is parsed")
    elif not text:
        note(f"no definition fits into {counted(budget, 'token', 'tokens')}")


def _root(memory: Memory, root: Path | None) -> Path | None:
    """The repository to look at: the one named, else of several that of the current folder."""
    if root is not None:
        return root
    roots = [Path(indexed) for indexed in memory.code.repositories()]
    here = Path.cwd().resolve()  # without symbolic links, as roots are
    holding = [indexed for indexed in roots if here.is_relative_to(indexed)]
    innermost = max(holding, key=lambda indexed: len(indexed.parts), default=None)
    return innermost if len(roots) > 1 else None


Tree = Annotated[Path, typer.Option("--root", metavar="FOLDER", help="A git working tree.")]


@command(app)
def record(
    run: Run,
    instruction: Annotated[str, typer.Argument(help="What was asked for, or - for stdin.")],
    root: Tree = Path(),
    note_: Annotated[
        str, typer.Option("--note", metavar="TEXT", help="What became of it, if that is known.")
    ] = "",
    outcome: Annotated[
        str, typer.Option(metavar="WORD", help="accepted, rejected, or in other words.")
    ] = "",
) -> None:
    """Remember what the working tree changes, and what for; before it is committed."""
    with run.memory(create=True) as memory:
        blocks = memory.code.record(
            stdin.argument(instruction), root=root, note=note_, outcome=outcome
        )
    if not blocks:
        raise InputError(
            "nothing was recorded: no definition has changed since the last commit or recorded "
            "round; record a change before it is committed"
        )
    for block in blocks:
        run.out.emit(_plain(block), f"{block.id} {block.key}")


@command(app)
def log(
    run: Run,
    definition: Annotated[str, typer.Argument(help="PATH::NAME, Class.method or a name.")],
    root: Tree = Path(),
    git: Annotated[bool, typer.Option("--git/--no-git", help="Commits too.")] = True,
    note_: Annotated[
        str | None,
        typer.Option(
            "--note", metavar="TEXT", help="Write down how its last recorded change was received."
        ),
    ] = None,
    outcome: Annotated[
        str,
        typer.Option(metavar="WORD", help="With --note: accepted, rejected, or in other words."),
    ] = "",
) -> None:
    """Tell the story of a definition: what was asked for, changed and noted, oldest first."""
    if note_ is not None:
        with run.memory() as memory:
            block = memory.code.note(definition, note_, outcome=outcome)
        run.out.emit(_plain(block), f"{block.id} {block.key}")
        return
    if run.is_there:
        with run.memory(whole=True) as memory:
            story = memory.code.log(definition, root=root if git else None)
    else:
        story = story_of(definition, (), root)
    for block in story:
        run.out.emit(_plain(block), *_told(block))


if TYPE_CHECKING:
    Writing = Any
    Checking = Any
else:
    Writing = options_of(CodeMemory.generate, "judge", "detector", "context")
    Checking = options_of(CodeMemory.check, "staged", "commits", "depth")


@command(app)
def check(
    run: Run,
    what: Checking,
    root: Tree = Path(),
    message: Annotated[
        str, typer.Option(metavar="TEXT", help="The commit message; what it cites may be undone.")
    ] = "",
    message_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file with the commit message.")
    ] = None,
) -> None:
    """Find what a change would undo of recorded rounds and of git history; exit 6 if anything."""
    if message_file is not None:
        try:
            message = f"{message}\n{files.read_replaced(message_file)}"
        except OSError as error:
            raise InputError(
                f"--message-file {message_file} cannot be read: {error.strerror}"
            ) from error
    if run.is_there:
        with run.memory(whole=True) as memory:
            report = memory.code.check(root=root, message=message, **asdict(what))
    else:
        report = compare(root, (), message=message, **asdict(what))
    for reversal in report.undone:
        run.out.emit(reversal, *_undone(reversal))
    note(
        f"{counted(report.definitions, 'changed definition', 'changed definitions')} compared with "
        f"{counted(report.rounds, 'recorded round', 'recorded rounds')} and "
        f"{counted(report.commits, 'commit', 'commits')}"
    )
    if report.deleted:
        note(
            f"{counted(report.deleted, 'definition is', 'definitions are')} deleted, which is not "
            "taken for an undone fix"
        )
    if report.shallow:
        note(
            "this is a shallow clone: older commits, and rounds that were recorded in a whole one, "
            "are not looked at; `git fetch --unshallow` brings the rest of the history"
        )
    if report:
        note("if that is meant, cite what is undone in the commit message, by its id")
        raise typer.Exit(FOUND)


@command(app)
def generate(
    run: Run,
    instruction: Annotated[str, typer.Argument(help="What to write or change, or - for stdin.")],
    definition: Annotated[
        str,
        typer.Option("--definition", "-d", metavar="NAME", help="Which; PATH::NAME if it is new."),
    ],
    how: Writing,
    root: Root = None,
) -> None:
    """Have the language model write a definition, warned of what its draft would undo."""
    with run.memory() as memory:
        if not memory.code.repositories():
            note(
                "no repository is indexed, so the model sees no code but that of recorded rounds; "
                "`treering code index FOLDER` shows it the rest"
            )
        result = memory.code.generate(
            stdin.argument(instruction),
            definition=definition,
            root=_root(memory, root),
            **asdict(how),
        )
    record = _plain(result.block) | {
        "regenerated": result.regenerated,
        "undone": [str(finding) for finding in result.undone],
        "shown": [f"{block.path}::{block.qualified}" for block in result.context],
    }
    run.out.emit(record, result.code)
    if result.regenerated:
        note("the first draft undid an earlier round and was written again")
    for finding in result.undone:
        note(f"likely undone still: {finding}")


@command(app)
def about(
    run: Run,
    question: Annotated[str, typer.Argument(help="Such as: why does parse() retry twice?")],
    k: Annotated[int, typer.Option("--k", "-k", min=1, help="How many of each.")] = 3,
) -> None:
    """Answer a question about code with what was said, what was done, and what stands there."""
    with run.memory() as memory:
        answer = memory.code.about(stdin.argument(question), k=k)
    if run.out.as_json:
        rounds = [_plain(block) for block in answer.rounds]
        code = [
            {"path": definition.path, "definition": definition.qualified, "text": definition.value}
            for definition in answer.code
        ]
        talk = [asdict(hit) for hit in answer.talk]
        named = {"definitions": answer.definitions}
        run.out.emit({**named, "talk": talk, "rounds": rounds, "code": code})
        return
    for hit in answer.talk:
        stale = f" (possibly out of date: {hit.stale.text})" if hit.stale else ""
        run.out.emit(hit, (f"{hit.source}\n", "bold"), f"{hit.text}{stale}\n")
    for block in answer.rounds:
        run.out.emit(block, *_told(block))
    for definition in answer.code:
        run.out.emit(
            definition,
            (f"{definition.path}:{definition.first_line} {definition.qualified}\n", "bold"),
            definition.value,
        )


@command(app)
def forget(
    run: Run,
    definition: Annotated[
        str | None, typer.Argument(help="PATH::NAME, Class.method or a name.")
    ] = None,
    root: Annotated[
        Path | None,
        typer.Option("--root", metavar="FOLDER", help="The repository whose index is erased."),
    ] = None,
    yes: Yes = False,
) -> None:
    """Erase the recorded rounds of a definition, or with --root the index of a repository.

    An index can be made anew, so it is erased without being asked for.
    """
    if (definition is None) == (root is None):
        raise InputError("give a definition, or --root for the index of a repository")
    with run.memory() as memory:
        if definition is not None:
            if not yes:
                _say_which_rounds(memory.code.log(definition))
                confirm()
            gone = memory.code.forget_rounds(definition)
            run.out.emit(gone, counted(len(gone.entries), "round forgotten", "rounds forgotten"))
        elif root is not None:
            files = memory.code.forget(root)
            run.out.emit({"files": files}, counted(files, "file forgotten", "files forgotten"))


def _say_which_rounds(blocks: Sequence[SessionBlock]) -> None:
    rounds = [block for block in blocks if block.instruction]  # not as it was found
    note(f"{counted(len(rounds), 'round', 'rounds')} will be erased for good:")
    for block in rounds:
        note(f"  {block.definition}: {block.instruction}")


def _plain(block: SessionBlock) -> dict[str, object]:
    """A block as JSON can hold it."""
    return {
        "id": block.id,
        "at": block.at,
        "path": block.path,
        "definition": block.definition,
        "branch": block.branch,
        "instruction": block.instruction,
        "commit": block.commit,
        "message": block.message,
        "note": block.note,
        "outcome": block.outcome,
        "added": _written(block.change.added),
        "deleted": _written(block.change.deleted),
        "code": block.code,
    }


def _told(block: SessionBlock) -> Iterator[Part]:
    when = f"{block.at:%Y-%m-%d %H:%M}" if block.at else ""
    asked = block.instruction or "(changed outside of the recorded rounds)"
    is_commit = bool(block.commit) and block.commit == block.id
    origin = "commit" if is_commit else "round"
    yield f"{when} {origin} {block.id[:SHORT]} {block.key}\n", "bold"
    yield "".join(f"  {line}\n" for line in asked.splitlines() if line.strip())
    if block.commit and not is_commit:
        yield f"  commit {block.commit[:SHORT]}: {_first_line(block.message)}\n"
    if block.note or block.outcome:
        yield f"  {block.outcome or 'note'}: {block.note}\n"
    for sign, some in (("-", block.change.deleted), ("+", block.change.added)):
        for text in _written(some):
            yield "".join(f"  {sign} {line}\n" for line in text.splitlines()), "dim"


def _written(some: Iterable[CodeStatement]) -> list[str]:
    """Statements as their source has them, in order."""
    return [
        statement.source for statement in sorted(some, key=lambda statement: statement.first_line)
    ]


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "")


def _undone(undone: Reversal) -> Iterator[Part]:
    when = f", {undone.at:%Y-%m-%d}" if undone.at else ""
    yield f"{undone.path}:{undone.line} {undone.definition}\n", "bold"
    asked = _first_line(undone.instruction)
    yield f"  undoes: {asked} ({undone.origin} {undone.name[:SHORT]}{when})\n"
    for what in undone.lost:
        yield f"  lost: {what}\n"
    for line in undone.then:
        yield f"  then {line.number}: {line.text}\n"
    for line in undone.now:
        yield f"  now {line.number}: {line.text}\n"


def _hit(hit: CodeHit, explain: bool) -> Iterator[Part]:
    yield f"{hit.path}:{hit.first_line}-{hit.last_line}", "bold"
    yield f" {hit.definition}\n"
    if explain:
        yield f"  {hit.score:.2f} = {hit.why}\n", "dim"
    yield f"{hit.text}\n"
