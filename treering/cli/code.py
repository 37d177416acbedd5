"""``treering code``: index, search, record work on code, and guard against undoing it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treering import files
from treering.cli import stdin
from treering.cli.failures import FOUND
from treering.cli.hits import term_parts
from treering.cli.options import Text, command, opt, options_of
from treering.cli.output import Part, note, plural
from treering.cli.run import Run
from treering.cli.subapps import sub_app
from treering.errors import InputError
from treering.records import Mode
from treering.text import first_line
from treering.views.code.guard.check import Reversal
from treering.views.code.guard.check import check as compare
from treering.views.code.index.code_index import ALPHA, CodeHit
from treering.views.code.memory import CodeMemory
from treering.views.code.parse.syntax import CodeStatement
from treering.views.code.rounds.rounds import NOTHING_CHANGED, story_of
from treering.views.code.rounds.session import SHORT, SessionBlock

if TYPE_CHECKING:
    from treering.memory import Memory

app = sub_app(
    no_args_is_help=True,
    help="The code of repositories: index, search and map it, and remember the work on it.",
)

_ROOT = opt(
    "Which repository, where several are indexed. Default: that of the current folder.",
    metavar="FOLDER",
)
_TREE = opt("A git working tree.", metavar="FOLDER")
_DEFINITION = "PATH::NAME, Class.method or a name."
_OUTCOME = opt("accepted, rejected, or in other words.", metavar="WORD")


@command(
    app,
    root="The root of a working tree.",
    embed="Embed fragments too. Default: as it was, or no.",
)
def index(
    run: Run, root: Annotated[str, typer.Argument()] = ".", embed: bool | None = None
) -> None:
    """Index a repository; only changed files are parsed."""
    if not root:
        raise InputError("the root is empty; `.` is the current folder")
    with run.memory(create=True) as memory, run.out.progress(f"indexing {root}") as progress:
        receipt = memory.code.index(root, embed=embed, progress=progress)
    run.out.emit(
        receipt,
        f"{plural(len(receipt.added), 'file', 'files')} added, {len(receipt.changed):,} changed, "
        f"{len(receipt.removed):,} removed, {receipt.unchanged:,} unchanged",
    )
    skipped = defaultdict[str, list[str]](list)
    for file in receipt.skipped:
        skipped[file.reason].append(file.path)
    for reason, paths in skipped.items():
        which = paths[0] if len(paths) == 1 else f"{len(paths):,} files, such as {paths[0]}"
        note(f"skipped {which}: {reason}")


@command(
    app,
    query="The purpose of the code, or - for standard input.",
    k=opt("How many fragments.", "--k", "-k", min=1),
    near=opt("Where the code will go.", metavar="PATH[:LINE]"),
    mode="Base score. Default: hybrid if embedded, else lexical.",
    alpha="Weight of the code relation; 0 for none.",
    path=opt(
        "Only files at it, as in .gitignore: src/, '*.py', '!tests/'; may be repeated.",
        metavar="PATTERN",
    ),
    root=_ROOT,
    talk="First the conversations and recorded rounds about it.",
)
def search(
    run: Run,
    query: Text,
    k: int = 10,
    near: str | None = None,
    mode: Mode | None = None,
    alpha: float = ALPHA,
    path: list[str] | None = None,
    root: Path | None = None,
    talk: bool = False,
    explain: bool = False,
) -> None:
    """Find the code that matters to an instruction, best first."""
    with run.memory() as memory:
        background = memory.code.about(query, k=k) if talk else None
        root = _root(memory, root)
        hits = memory.code.search(
            query, k=k, near=near, mode=mode, alpha=alpha, paths=path or None, root=root
        )
    if background is not None:
        for hit in background.talk:
            stale = f" (possibly out of date: {hit.stale.text})" if hit.stale else ""
            run.out.emit(hit, (f"{hit.source}\n", "bold"), f"{hit.text}{stale}\n")
        for block in background.rounds:
            run.out.emit(_plain(block), *_story(block))
    run.out.emit_all(hits, lambda hit: _hit(hit, explain))


@command(
    app,
    "map",
    budget=opt("Tokens the map may have.", min=1, metavar="TOKENS"),
    root=_ROOT,
)
def map_(run: Run, budget: int = 1000, root: Path | None = None) -> None:
    """Print the most called definitions of a repository within a token budget."""
    with run.memory() as memory:
        root = _root(memory, root)
        text = memory.code.map(budget=budget, root=root)
    if text or run.out.as_json:
        run.out.emit({"map": text}, text)
    if not text:
        note(f"there is no definition that fits into {plural(budget, 'token', 'tokens')}")


def _root(memory: Memory, root: Path | None) -> Path | None:
    """Return the repository that is named, else that of the current folder, else the only one."""
    if root is not None:
        return root
    roots = [Path(indexed) for indexed in memory.code.repositories()]
    here = Path.cwd().resolve()  # without symbolic links, as roots are
    around = [indexed for indexed in roots if here.is_relative_to(indexed)]
    around = around or (roots if len(roots) == 1 else [])
    return max(around, key=lambda indexed: len(indexed.parts), default=None)


@command(
    app,
    instruction="The instruction of the change, or - for standard input.",
    root=_TREE,
    note_=opt("The reception of the change, if that is known.", metavar="TEXT"),
    outcome=_OUTCOME,
)
def record(
    run: Run, instruction: Text, root: Path = Path(), note_: str = "", outcome: str = ""
) -> None:
    """Remember the changes in the working tree, and their reason; before they are committed."""
    with run.memory(create=True) as memory:
        blocks = memory.code.record(instruction, root=root, note=note_, outcome=outcome)
    if not blocks:
        raise InputError(NOTHING_CHANGED)
    for block in blocks:
        run.out.emit(_plain(block), f"{block.id} {block.key}")


@command(
    app,
    definition=_DEFINITION,
    root=opt(
        "A git working tree. Default: the indexed one of the current folder, else the only "
        "indexed one, else the folder.",
        metavar="FOLDER",
    ),
    git=opt("Commits too.", "--git/--no-git"),
    note_=opt("Write down how its last recorded change was received.", metavar="TEXT"),
    outcome=_OUTCOME,
)
def log(
    run: Run,
    definition: str,
    root: Path | None = None,
    git: bool = True,
    note_: str | None = None,
    outcome: str = "",
) -> None:
    """Print the story of a definition: instructions, changes and notes, oldest first."""
    if note_ is not None or outcome:
        with run.memory() as memory:
            block = memory.code.note(definition, note_ or "", outcome=outcome)
        run.out.emit(_plain(block), f"{block.id} {block.key}")
        return
    if run.is_there:
        with run.memory(whole=True) as memory:
            tree = _root(memory, root) or Path()
            story = memory.code.log(definition, root=tree if git else None)
    else:
        story = story_of(definition, (), (root or Path()) if git else None)
    for block in story:
        run.out.emit(_plain(block), *_story(block))


if TYPE_CHECKING:
    Writing = Any
    Checking = Any
else:
    Writing = options_of(CodeMemory.generate, "judge", "detector", "context")
    Checking = options_of(CodeMemory.check, "staged", "commits", "depth")


@command(
    app,
    root=_TREE,
    message=opt("The commit message; rounds that it cites may be undone.", metavar="TEXT"),
    message_file=opt("A file with the commit message.", metavar="FILE"),
)
def check(
    run: Run,
    what: Checking,
    root: Path = Path(),
    message: str = "",
    message_file: Path | None = None,
) -> None:
    """Warn if a change undoes recorded rounds or commits of the git history; exit 6 if so."""
    if message_file is not None:
        try:
            message = f"{message}\n{files.read_replaced(message_file)}"
        except OSError as error:
            raise InputError(
                f"--message-file {message_file} cannot be read: {error.strerror}"
            ) from error
    options = {**asdict(what), "root": root, "message": message}
    with ExitStack() as stack:
        memory = stack.enter_context(run.memory(whole=True)) if run.is_there else None
        options["progress"] = stack.enter_context(run.out.progress("reading changed files"))
        report = memory.code.check(**options) if memory else compare(rounds=(), **options)
    for reversal in report.undone:
        run.out.emit(reversal, *_undone(reversal))
    note(
        f"{plural(report.definitions, 'changed definition', 'changed definitions')} compared with "
        f"{plural(report.rounds, 'recorded round', 'recorded rounds')} and "
        f"{plural(report.commits, 'commit', 'commits')}"
    )
    if report.deleted:
        note(
            f"{plural(report.deleted, 'definition is', 'definitions are')} deleted, which does "
            "not count as an undone fix"
        )
    if report.shallow:
        note(
            "this is a shallow clone: older commits, and rounds that were recorded in a whole one, "
            "are not looked at; `git fetch --unshallow` brings the rest of the history"
        )
    if report:
        ids = dict.fromkeys(reversal.citation for reversal in report.undone)
        note(f"if you mean it, add this line to the commit message:\nUndoes: {', '.join(ids)}")
        raise typer.Exit(FOUND)


@command(
    app,
    instruction="The code to write or change, or - for standard input.",
    definition=opt("Which; PATH::NAME if it is new.", "--definition", "-d", metavar="NAME"),
    root=_ROOT,
)
def generate(
    run: Run,
    instruction: Text,
    definition: Annotated[str, typer.Option()],
    how: Writing,
    root: Path | None = None,
) -> None:
    """Have the language model write a definition, warned if its draft would undo a round."""
    with run.memory() as memory:
        if not memory.code.repositories():
            note(
                "no repository is indexed, so the model sees no code but that of recorded rounds; "
                "`treering code index FOLDER` shows it the rest"
            )
        root = _root(memory, root)
        result = memory.code.generate(instruction, definition=definition, root=root, **asdict(how))
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


@command(
    app,
    definition=_DEFINITION,
    root=opt("The repository whose index is erased.", metavar="FOLDER"),
)
def forget(
    run: Run,
    definition: Annotated[str | None, typer.Argument()] = None,
    root: Path | None = None,
    yes: bool = False,
) -> None:
    """Erase the recorded rounds of a definition, or with --root the index of a repository.

    An index can be made again, so it is erased without a question.
    """
    if (definition is None) == (root is None):
        raise InputError("give a definition, or --root for the index of a repository")
    with run.memory() as memory:
        if definition is not None:
            if not yes:
                blocks = memory.code.log(definition)
                rounds = [block for block in blocks if block.instruction]  # not as it was found
                note(f"{plural(len(rounds), 'round', 'rounds')} will be erased for good:")
                for block in rounds:
                    note(f"  {block.definition}: {block.instruction}")
                stdin.confirm()
            gone = memory.code.forget_rounds(definition)
            run.out.emit(gone, plural(len(gone.entries), "round forgotten", "rounds forgotten"))
        elif root is not None:
            count = memory.code.forget(root)
            run.out.emit({"files": count}, plural(count, "file forgotten", "files forgotten"))


_FIELDS = (
    *("id", "at", "path", "definition", "branch", "instruction"),
    *("commit", "message", "note", "outcome", "code"),
)


def _plain(block: SessionBlock) -> dict[str, object]:
    """Return a block as JSON can hold it."""
    fields = {name: getattr(block, name) for name in _FIELDS}
    changed = {"added": block.change.added, "deleted": block.change.deleted}
    return fields | {name: _sources(statements) for name, statements in changed.items()}


def _story(block: SessionBlock) -> Iterator[Part]:
    when = f"{block.at:%Y-%m-%d %H:%M}" if block.at else ""
    asked = block.instruction or "(changed outside of the recorded rounds)"
    is_commit = bool(block.commit) and block.commit == block.id
    origin = "commit" if is_commit else "round"
    name = block.id[:SHORT] if is_commit else block.id
    yield f"{when} {origin} {name} {block.key}\n", "bold"
    yield "".join(f"  {line}\n" for line in asked.splitlines() if line.strip())
    if block.commit and not is_commit:
        yield f"  commit {block.commit[:SHORT]}: {first_line(block.message)}\n"
    if block.note or block.outcome:
        yield f"  {block.outcome or 'note'}: {block.note}\n"
    for sign, some in (("-", block.change.deleted), ("+", block.change.added)):
        for text in _sources(some):
            yield "".join(f"  {sign} {line}\n" for line in text.splitlines()), "dim"


def _sources(some: Iterable[CodeStatement]) -> list[str]:
    """Return the source of statements, in order."""
    return [
        statement.source for statement in sorted(some, key=lambda statement: statement.first_line)
    ]


def _undone(undone: Reversal) -> Iterator[Part]:
    when = f", {undone.at:%Y-%m-%d}" if undone.at else ""
    yield f"{undone.path}:{undone.line} {undone.definition}".rstrip() + "\n", "bold"
    asked = first_line(undone.instruction)
    yield f"  undoes: {asked} ({undone.origin} {undone.citation}{when})\n"
    for line in undone.then:
        yield f"  was line {line.number}: {line.text}\n"
    for line in undone.now:
        yield f"  now line {line.number}: {line.text}\n"


def _hit(hit: CodeHit, explain: bool) -> Iterator[Part]:
    yield f"{hit.path}:{hit.first_line}-{hit.last_line}", "bold"
    yield f" {hit.definition}".rstrip() + f"\n{hit.text}"
    if explain:
        yield from term_parts(hit.why, hit.score)
    yield "\n"
