"""``treering doctor``: the parts of a memory one by one, so that none hides another's fault."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sqlite3
import stat
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import treering
from treering.cli.failures import FOUND, told
from treering.cli.options import command
from treering.cli.output import counted, note
from treering.cli.run import Run
from treering.errors import InputError, JournalError, TreeringError

if TYPE_CHECKING:
    from treering.journal.contract import Database

commands = typer.Typer()

State = Literal["ok", "warn", "fail"]
_STYLES: dict[State, str] = {"ok": "green", "warn": "yellow", "fail": "red"}
SPARE_BYTES = 64 << 20  # room for the log of a large document beside a rewritten file
_BROKEN = "something is broken; see the lines marked fail"
PROBE = "The year rings of a tree tell its age."
REPLY_TOKENS = 16
RESTORE = "restore a copy or import an export"


@dataclass(frozen=True, slots=True)
class Checkup:
    """What one check found."""

    check: str
    state: State
    detail: str
    advice: str = ""
    """What to do about it, which others of the findings may share."""

    @property
    def record(self) -> dict[str, str]:
        """The finding by itself, for programs."""
        return {"check": self.check, "state": self.state, "detail": self.text(frozenset())}

    def text(self, given: Collection[str]) -> str:
        """What was found, with what to do about it unless that advice was given before."""
        return f"{self.detail}; {self.advice}" if self.advice not in {"", *given} else self.detail


@command(commands)
def doctor(
    run: Run,
    secrets: Annotated[
        bool,
        typer.Option("--secrets", help="Look for keys, passwords and private passages instead."),
    ] = False,
    reindex: Annotated[
        bool,
        typer.Option("--reindex", help="First make all indexes of the file anew from its tables."),
    ] = False,
) -> None:
    """Check the file, the disk, pending work and the models; exit 6 if something is broken.

    All spaces of the file are looked at, or the one that --space names. A language model is called
    once if one is configured, and an embedding model once. With --secrets their entries are read
    for what should not be in them; none is shown. A damaged index hides entries: --reindex brings
    them back.
    """
    if run.is_served:
        raise InputError(f"doctor looks at a file; run it where the file of {run.url} is")
    if reindex:
        _reindex(run)
    _ensure_space(run)
    findings: list[Checkup] = []
    given: set[str] = set()
    checks = (
        (_secrets,) if secrets else (_versions, _file, _disk, _imports, _space, _embedder, _llm)
    )
    for check in checks:
        for finding in _guarded(check, run):
            if finding.state == "fail" and finding.detail in (one.detail for one in findings):
                continue  # a file that cannot be opened fails each check that opens it
            if not run.out.as_json:
                text = finding.text(given)
                style = _STYLES[finding.state]
                run.out.emit(finding, (f"{finding.state:<5}", style), f"{finding.check:<9} {text}")
            findings.append(finding)
            given.add(finding.advice)
    sound = all(finding.state != "fail" for finding in findings)
    if run.out.as_json:
        run.out.emit({"ok": sound, "checks": [finding.record for finding in findings]})
    if not sound:
        note("see the lines marked fail" if secrets else _BROKEN)
        raise typer.Exit(FOUND)


def _reindex(run: Run) -> None:
    if not run.is_there:
        raise InputError(f"there is no memory at {run.place}, so no index to make anew")
    with _database(run) as database:
        database.reindex()


def _ensure_space(run: Run) -> None:
    """Raise UnknownName if a space is named that the file does not have."""
    from treering.journal.space import Space

    if run.named_space is None or not run.is_there:
        return
    # A damaged file is what the checks are there to tell of.
    with (
        suppress(JournalError),
        _database(run) as database,
        Space(database, run.space).read() as reader,
    ):
        reader.ensure_there()


def _guarded(check: Callable[[Run], Iterator[Checkup]], run: Run) -> Iterator[Checkup]:
    """The findings of one check; an error that it raises counts as a finding, too."""
    try:
        yield from check(run)
    except TreeringError as error:
        yield Checkup(check.__name__.strip("_"), "fail", told(error))


def _secrets(run: Run) -> Iterator[Checkup]:
    for name in _names(run) or [run.space]:
        whose = "" if name == run.space else f"--space {shlex.quote(name)} "
        yield from _secrets_of(run.in_space(name), f"treering forget {whose}")


def _secrets_of(run: Run, forget: str) -> Iterator[Checkup]:
    from treering.ingest.secrets import PRIVATE, secrets_in

    entries = 0
    clean = True
    with run.memory() as memory:
        for entry in memory.entries():
            entries += 1
            kinds = Counter(secret.kind for secret in secrets_in(entry.text))
            kinds.update(["private passage"] * len(PRIVATE.findall(entry.text)))
            if kinds:
                clean = False
                what = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
                detail = f"{entry.id} of {entry.source}: {what}; `{forget}{entry.id}`"
                yield Checkup("secrets", "fail", detail)
    if clean:
        yield Checkup(
            "secrets", "ok", f"none in {counted(entries, 'entry', 'entries')} of {run.space!r}"
        )


def _names(run: Run) -> list[str]:
    """All spaces of the file; none where one is named, or where there is no file."""
    from treering.journal.space import names

    if run.named_space is not None or not run.is_there:
        return []
    with _database(run) as database, database.read() as reader:
        return names(reader)


def _versions(_: Run) -> Iterator[Checkup]:
    parts = [
        f"treering {treering.__version__}",
        f"Python {platform.python_version()}",
        f"SQLite {sqlite3.sqlite_version}",
        *(f"{name} {version(name)}" for name in ("numpy", "onnxruntime")),
        platform.platform(terse=True),
    ]
    yield Checkup("versions", "ok", ", ".join(parts))


def _file(run: Run) -> Iterator[Checkup]:
    if not run.is_there:
        yield Checkup("file", "warn", f"no memory at {run.place} yet; `treering add` makes one")
        return
    from treering.journal import check

    with _database(run) as database, run.out.progress("reading entries") as progress:
        problems = check.problems(database, progress)
        size = database.size()
    for problem in problems:
        yield Checkup("file", "fail", *_with_advice(problem))
    if not problems:
        yield Checkup("file", "ok", f"{run.place} is sound, {size / 1e6:,.1f} MB")
    if os.name == "posix" and run.path is not None:
        mode = stat.S_IMODE(run.path.stat().st_mode)
        if mode & stat.S_IRWXO:
            yield Checkup(
                "file",
                "warn",
                f"every user of this machine may open {run.path} (mode {mode:o}); "
                f"`chmod 600 {run.path}*` keeps it yours",
            )


def _with_advice(problem: str) -> tuple[str, str]:
    """A problem of the file, and what to do about it."""
    from treering.journal import check, damage

    for advice in (damage.HELP, damage.ANEW):
        if problem.endswith(advice):
            return problem.removesuffix(advice).rstrip(". "), advice
    if " index " in problem:
        return problem, check.REINDEX_HELP
    return problem, "" if "restore a copy" in problem.lower() else RESTORE


def _disk(run: Run) -> Iterator[Checkup]:
    if run.path is None or not run.path.absolute().parent.is_dir():
        return
    free = shutil.disk_usage(run.path.absolute().parent).free
    size = run.path.stat().st_size if run.path.exists() else 0
    needed = 2 * size + SPARE_BYTES  # settling may rewrite the file: a copy, and its log
    room = f"{free / 1e9:,.1f} GB free"
    if free < needed:
        yield Checkup("disk", "warn", f"{room}; forgetting may need {needed / 1e9:,.1f} GB")
    else:
        yield Checkup("disk", "ok", room)


def _imports(run: Run) -> Iterator[Checkup]:
    """Imports that were cut short, into whatever space: no other check knows of their texts."""
    from treering.journal import staged

    if not run.is_there:
        return
    with _database(run) as database:
        names = staged.abandoned_spaces(database)
    for name in names:
        detail = f"{name!r}: an import was cut short; all or nothing of it stays"
        advice = "the next command that opens the memory sees to it, such as `treering settle`"
        yield Checkup("import", "warn", detail, advice)


def _space(run: Run) -> Iterator[Checkup]:
    """The space that is named, else every space of the file."""
    if not run.is_there:
        return
    there = _names(run)
    llm = _llm_meant(run)
    for name in there or [run.space]:
        try:
            yield from _checked(run.in_space(name), llm, of_many=len(there) > 1)
        except TreeringError as error:
            yield Checkup("space", "fail", *_with_advice(f"{name!r}: {told(error)}"))


def _checked(run: Run, llm: str | None, *, of_many: bool) -> Iterator[Checkup]:
    from treering.journal import work
    from treering.journal.space import Space
    from treering.memory import Memory
    from treering.views.contract import rereading
    from treering.views.pending import in_words

    with Memory.open(run.url, space=run.space, embedder=run.embedder, llm=llm) as memory:
        stats = memory.stats()
    with _database(run) as database, Space(database, run.space).read() as reader:
        # What a view queues is called by its own kinds; what it has to read again, by the view's.
        errors = {
            kind: work.last_error(reader, reader.id, kind)
            or work.last_error(reader, reader.id, rereading(kind))
            for kind in stats.pending
        }
    entries = counted(stats.entries, "entry", "entries")
    fragments = counted(stats.fragments, "fragment", "fragments")
    yield Checkup("space", "ok", f"{stats.space!r}: {entries}, {fragments}")
    whose = f"{stats.space!r}: " if of_many else ""
    settle = "`treering settle`"
    if of_many:
        settle += ", with --space NAME for each"
    for view in stats.outdated:
        what = "was derived by another version of treering, or its rebuild was interrupted"
        advice = f"run {settle}, or `treering rebuild` with its name"
        yield Checkup("view", "warn", f"{whose}{view} {what}", advice)
    for kind, count in stats.pending.items():
        last = f"; last error: {errors[kind]}" if errors[kind] else ""
        yield Checkup(
            "pending",
            "warn",
            f"{whose}{in_words(kind, count)}{last}",
            f"run {settle}",
        )


def _llm_meant(run: Run) -> str | None:
    """The language model; none instead of one that is not there, which its own check tells."""
    from treering.llm import settings

    try:
        settings.ensure_meaningful(run.llm)
    except TreeringError:
        return settings.NONE
    return run.llm


def _embedder(run: Run) -> Iterator[Checkup]:
    from treering.embed.checked import checked
    from treering.embed.registry import open_embedder
    from treering.journal.space import NOWHERE, SpaceState, read_state
    from treering.views.fragments.model import ensure_same_model

    state = SpaceState(NOWHERE)
    # A damaged file is the finding of the file's check; the model can be checked all the same.
    with suppress(JournalError):
        if run.is_there:
            with _database(run) as database, database.read() as reader:
                state = read_state(reader, run.space)
    built_with = state.model.name if state.model else None
    embedder = open_embedder(run.embedder or built_with)
    ensure_same_model(state, embedder, run.space)
    start = time.perf_counter()
    vectors = checked(embedder, [PROBE])
    took = time.perf_counter() - start
    summary = f"{embedder.name} loads and embeds: {vectors.shape[1]} dimensions, {took:.2f} s"
    yield Checkup("embedder", "ok", summary)


def _llm(run: Run) -> Iterator[Checkup]:
    from treering.llm import settings
    from treering.llm.contract import Message

    variables = (settings.GGUF, settings.BASE_URL, settings.MODEL)
    if not run.llm and not any(os.environ.get(name) for name in variables):
        yield Checkup("llm", "ok", "none is configured; only ask and chat need one")
        return
    llm = settings.open_llm(run.llm)
    try:
        start = time.perf_counter()
        llm.complete([Message("user", "Say OK.")], max_tokens=REPLY_TOKENS, temperature=0.0)
        took = time.perf_counter() - start
    finally:
        llm.close()
    yield Checkup("llm", "ok", f"{llm.model} answers, {took:.2f} s")


@contextmanager
def _database(run: Run) -> Iterator[Database]:
    from treering.journal.open import open_database

    database = open_database(run.url)
    try:
        yield database
    finally:
        database.close()
