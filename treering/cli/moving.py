"""Commands that bring a memory elsewhere: copy, backup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from treering.cli.options import command
from treering.cli.output import counted, note
from treering.cli.run import Run
from treering.errors import CopyMismatch, InputError, TreeringError, UnknownName

commands = typer.Typer()


@command(commands)
def copy(
    run: Run,
    from_: Annotated[
        str,
        typer.Argument(
            metavar="FROM",
            help="The memory to copy: a file, the URL of a server (http://…) or of PostgreSQL.",
        ),
    ],
    to: Annotated[
        str, typer.Argument(metavar="TO", help="Where to: one of these, too; made if need be.")
    ],
    space: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Copy this space alone; may be repeated. Default: $TREERING_SPACE, else all.",
        ),
    ] = None,
) -> None:
    """Copy a memory, or spaces of it, between files, servers and PostgreSQL; compare both sides.

    Entries keep their ids, places, times and metadata, spaces their settings. Nothing is copied if
    a space of the target holds anything else: all such spaces are named. Called again, it goes on
    with what was cut short. Exits with 6 if the source has changed meanwhile. Not copied are
    the keys of a server, what models have cost, and all that is derived: it is made anew, with the
    embedding model of the target.
    """
    source = replace(run, url=from_, embedder=None, is_named=True)
    target = replace(run, url=to, is_named=True)
    if target.is_served:  # it has its own
        target = replace(target, embedder=None)
    _refuse_itself(source, target)
    names = space or _spaces(source, run.named_space)
    _refuse_clashes(source, target, names)
    for name in names:
        with _told(name):
            _copy(run, source.in_space(name), target.in_space(name))


@command(commands)
def backup(
    run: Run,
    file: Annotated[str, typer.Argument(help="The memory's file, which may be in use.")],
    to: Annotated[str, typer.Argument(metavar="TO", help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite it.")] = False,
) -> None:
    """Copy the file of a memory while others read and write it, whole and as of one moment.

    The copy holds all that the file does, keys of a server and what is derived among it. It is
    there once it is complete, and only its owner may read it.
    """
    from treering.journal.backup import backup as back_up

    source, target = replace(run, url=file), replace(run, url=to)
    if source.path is None or target.path is None:
        raise InputError(
            "backup is for files; copy a memory on a server with `treering copy`, and one in "
            "PostgreSQL with that or with pg_dump"
        )
    with run.out.progress("copying pages") as progress:
        size = back_up(source.path, target.path, overwrite=force, progress=progress)
    run.out.emit({"file": to, "bytes": size}, f"wrote {size / 1e6:,.1f} MB to {to}")


def _copy(run: Run, source: Run, target: Run) -> None:
    """Copy one space."""
    from treering.copying import copy_space

    with (
        source.memory() as here,
        target.memory(create=True, begins=True) as there,
        run.out.progress(f"copying {source.space}") as progress,
    ):
        done = copy_space(here, there, progress=progress)
    entries = counted(done.entries, "entry", "entries")
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
    """The spaces to copy if no option names any. Raises UnknownName."""
    if named is not None:
        return [named]
    with source.memory(whole=True) as memory:
        spaces = memory.spaces()
    if not spaces:
        raise UnknownName(f"the memory at {source.place} has no space; there is nothing to copy")
    return spaces


def _refuse_itself(source: Run, target: Run) -> None:
    """Raise InputError if source and target are one memory."""
    paths = (source.path, target.path)
    is_same = source.url == target.url
    if paths[0] is not None and paths[1] is not None:
        is_same = Path(paths[0]).resolve() == Path(paths[1]).resolve()
    if is_same:
        raise InputError(f"{target.place} is the memory itself; give another one to copy to")


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Say which space an error is of, and what to do about one that is cut short."""
    try:
        yield
    except CopyMismatch:
        note(f"space {name!r} was copied, but:")
        raise
    except (InputError, KeyboardInterrupt):
        raise
    except TreeringError:
        note(f"space {name!r} is not copied as a whole; the same command goes on where it was")
        raise
