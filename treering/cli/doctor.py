"""``treering doctor``: check the parts of a memory one by one; no fault hides another."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sqlite3
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Literal

import typer

import treering
from treering.cli.failures import FOUND
from treering.cli.options import command
from treering.cli.output import note, plural
from treering.cli.run import Run
from treering.errors import InputError, JournalError, TreeringError

commands = typer.Typer()

State = Literal["ok", "warn", "fail"]
_STYLES: dict[State, str] = {"ok": "green", "warn": "yellow", "fail": "red"}
SPARE_BYTES = 64 << 20  # room for the log of a large document beside a rewritten file
PROBE = "The year rings of a tree tell its age."
REPLY_TOKENS = 16
ADVICE = (
    "something is broken; see the lines marked fail. For a damaged file: `treering doctor "
    "--reindex` rebuilds indexes from the entries, `treering export` writes what can be read, and "
    "`treering forget ID` removes a damaged entry; or restore a copy"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    check: str
    state: State
    detail: str


@command(
    commands,
    secrets="Look for keys, passwords and private passages instead.",
    reindex="First make all indexes of the file again from its tables.",
)
def doctor(run: Run, secrets: bool = False, reindex: bool = False) -> None:
    """Check the file, the disk, pending work and the models; exit 6 if something is broken.

    All spaces of the file are checked, or the one that --space names. A language model is called
    once if one is configured, and an embedding model once. --secrets searches their entries and
    shows none of the text that it finds. A damaged index hides entries: --reindex brings them back.
    """
    if run.is_served:
        raise InputError(f"doctor looks at a file; run it where the file of {run.url} is")
    if reindex:
        if not run.is_there:
            raise InputError(f"there is no memory at {run.place} to index again")
        with run.database() as database:
            database.reindex()
    _ensure_space(run)
    checks = _versions, _file, _disk, _spaces, _embedder, _llm
    findings: list[Finding] = []
    for check in (_secrets,) if secrets else checks:
        for finding in _findings(check, run):
            if finding.state == "fail" and finding.detail in (each.detail for each in findings):
                continue  # a file that cannot be opened fails each check that opens it
            if not run.out.as_json:
                style = _STYLES[finding.state]
                text = f"{finding.check:<9} {finding.detail}"
                run.out.emit(finding, (f"{finding.state:<5}", style), text)
            findings.append(finding)
    sound = all(finding.state != "fail" for finding in findings)
    if run.out.as_json:
        run.out.emit({"ok": sound, "checks": [*map(asdict, findings)]})
    if not sound:
        note(ADVICE)
        raise typer.Exit(FOUND)


def _findings(check: Callable[[Run], Iterator[Finding]], run: Run) -> Iterator[Finding]:
    """Yield the findings of one check; an error that it raises is a finding, too."""
    try:
        yield from check(run)
    except TreeringError as error:
        name = check.__name__.strip("_").removesuffix("s")
        yield Finding(name, "fail", _detail(error))


def _detail(error: TreeringError) -> str:
    """Return the text of an error without the advice to run this command."""
    return error.worded("cli").partition("; `treering doctor`")[0]


def _ensure_space(run: Run) -> None:
    """Raise UnknownName if a space is named that the file does not have."""
    from treering.journal.space import Space

    if run.named_space is None or not run.is_there:
        return
    # The checks report a damaged file.
    with (
        suppress(JournalError),
        run.database() as database,
        Space(database, run.space).read() as reader,
    ):
        reader.ensure_there()


def _space_names(run: Run) -> list[str]:
    """Return the space that is named, else all of the file."""
    from treering.journal.space import names

    if run.named_space is not None or not run.is_there:
        return [run.space]
    with run.database() as database, database.read() as reader:
        return names(reader) or [run.space]


def _secrets(run: Run) -> Iterator[Finding]:
    from treering.ingest.secrets import PRIVATE, secrets_in

    for name in _space_names(run):
        whose = "" if name == run.space else f"--space {shlex.quote(name)} "
        entries = 0
        is_clean = True
        with run.in_space(name).memory() as memory:
            for entry in memory.entries():
                entries += 1
                kinds = Counter(secret.kind for secret in secrets_in(entry.text))
                kinds.update(["private passage"] * len(PRIVATE.findall(entry.text)))
                if kinds:
                    is_clean = False
                    what = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
                    erase = f"`treering forget {whose}{entry.id}`"
                    yield Finding(
                        "secrets", "fail", f"{entry.id} of {entry.source}: {what}; {erase}"
                    )
        if is_clean:
            held = plural(entries, "entry", "entries")
            yield Finding("secrets", "ok", f"none in {held} of {name!r}")


def _versions(_: Run) -> Iterator[Finding]:
    parts = [
        f"treering {treering.__version__}",
        f"Python {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}",
        *(f"{name} {version(name)}" for name in ("numpy", "onnxruntime")),
        platform.platform(terse=True),
    ]
    yield Finding("versions", "ok", ", ".join(parts))


def _file(run: Run) -> Iterator[Finding]:
    if not run.is_there:
        yield Finding("file", "warn", f"no memory at {run.place} yet; `treering add` makes one")
        return
    from treering.journal import stored
    from treering.journal.damage import HELP

    with run.database() as database, run.out.progress("reading entries") as progress:
        problems = stored.problems(database, progress)
        size = database.size()
    for problem in problems:
        yield Finding("file", "fail", problem.removesuffix(f". {HELP}"))
    if not problems:
        yield Finding("file", "ok", f"{run.place} is sound, {size / 1e6:,.1f} MB")
    if os.name == "posix" and run.path is not None:
        mode = stat.S_IMODE(run.path.stat().st_mode)
        if mode & stat.S_IRWXO:
            yield Finding(
                "file",
                "warn",
                f"every user of this machine may open {run.path} (mode {mode:o}); "
                f"`chmod 600 {run.path}*` keeps it yours",
            )


def _disk(run: Run) -> Iterator[Finding]:
    if run.path is None or not run.path.absolute().parent.is_dir():
        return
    free = shutil.disk_usage(run.path.absolute().parent).free
    size = run.path.stat().st_size if run.path.exists() else 0
    needed = 2 * size + SPARE_BYTES  # settling may rewrite the file: a copy, and its log
    room = f"{free / 1e9:,.1f} GB free"
    if free < needed:
        yield Finding("disk", "warn", f"{room}; forgetting may need {needed / 1e9:,.1f} GB")
    else:
        yield Finding("disk", "ok", room)


def _spaces(run: Run) -> Iterator[Finding]:
    if not run.is_there:
        return
    from treering.llm import settings

    llm = run.llm
    try:
        settings.ensure_meaningful(llm)
    except TreeringError:  # the check of the model reports it
        llm = settings.NONE
    for name in _space_names(run):
        try:
            yield from _space(run.in_space(name), llm)
        except TreeringError as error:
            yield Finding("space", "fail", f"{name!r}: {_detail(error)}")


def _space(run: Run, llm: str | None) -> Iterator[Finding]:
    from treering.journal import work
    from treering.journal.space import Space
    from treering.memory import Memory
    from treering.views.contract import reread_kind
    from treering.views.pending import in_words

    with Memory.open(run.url, space=run.space, embedder=run.embedder, llm=llm) as memory:
        stats = memory.stats()
    with run.database() as database, Space(database, run.space).read() as reader:
        # A view's queue has names of its own; entries that it has to read again have the view's.
        errors = {
            kind: work.last_error(reader, reader.id, kind)
            or work.last_error(reader, reader.id, reread_kind(kind))
            for kind in stats.pending
        }
    entries = plural(stats.entries, "entry", "entries")
    fragments = plural(stats.fragments, "fragment", "fragments")
    yield Finding("space", "ok", f"{stats.space!r}: {entries}, {fragments}")
    settle = f"`treering settle --space {shlex.quote(stats.space)}`"
    for view in stats.outdated:
        what = "was derived by another version of treering, or its rebuild was interrupted"
        yield Finding("view", "warn", f"{stats.space!r}: {view} {what}; run {settle}")
    for kind, count in stats.pending.items():
        last = f"; last error: {errors[kind]}" if errors[kind] else ""
        what = in_words(kind, count)
        yield Finding("pending", "warn", f"{stats.space!r}: {what}{last}; run {settle}")


def _embedder(run: Run) -> Iterator[Finding]:
    from treering.embed.contract import unit_vectors
    from treering.embed.registry import open_embedder
    from treering.journal.space import NOWHERE, SpaceState, read_state
    from treering.views.fragments.build import ensure_same_model

    state = SpaceState(NOWHERE)
    # The check of the file reports damage; the model can be checked all the same.
    with suppress(JournalError):
        if run.is_there:
            with run.database() as database, database.read() as reader:
                state = read_state(reader, run.space)
    built_with = state.model.name if state.model else None
    embedder = open_embedder(run.embedder or built_with)
    ensure_same_model(state, embedder, run.space)
    start = time.perf_counter()
    vectors = unit_vectors(embedder, [PROBE])
    took = time.perf_counter() - start
    summary = f"{embedder.name} loads and embeds: {vectors.shape[1]} dimensions, {took:.2f} s"
    yield Finding("embedder", "ok", summary)


def _llm(run: Run) -> Iterator[Finding]:
    from treering.llm import settings
    from treering.llm.contract import Message

    variables = (settings.GGUF, settings.BASE_URL, settings.MODEL)
    if not run.llm and not any(os.environ.get(name) for name in variables):
        need = "ask, chat, memos, `code generate` and `relate suggest` need one"
        yield Finding("llm", "ok", f"none is configured; {need}")
        return
    llm = settings.open_llm(run.llm)
    try:
        start = time.perf_counter()
        llm.complete([Message("user", "Say OK.")], max_tokens=REPLY_TOKENS, temperature=0.0)
        took = time.perf_counter() - start
    finally:
        llm.close()
    yield Finding("llm", "ok", f"{llm.model} answers, {took:.2f} s")
