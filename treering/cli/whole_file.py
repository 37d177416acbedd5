"""All spaces of a file as one stream of lines: each space's export, its header naming the space."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treering.cli.run import Run
from treering.errors import InputError, JournalCorrupt

if TYPE_CHECKING:
    from treering.memory import Memory

_SPACE = "space"


def export_all(run: Run, memory: Memory) -> Iterator[str]:
    """The lines of every space of the memory's file. Raises InputError for one on a server.

    What is damaged is left out. Raises JournalCorrupt naming it, after all that can be read.
    """
    if run.is_served:
        raise InputError("--all-spaces is the owner's, where the file is; a key opens one space")
    damaged: list[JournalCorrupt] = []
    for name in memory.spaces():
        with run.in_space(name).memory() as space:
            lines = space.export()
            yield json.dumps(json.loads(next(lines)) | {_SPACE: name})
            try:
                yield from lines
            except JournalCorrupt as error:
                damaged.append(error)
    if damaged:
        raise JournalCorrupt("\n".join(map(str, damaged)))


@dataclass(frozen=True, slots=True)
class SpaceExport:
    """One space of an export; ``space`` is None where its header names none."""

    space: str | None
    lines: Iterator[str]


def parts(lines: Iterable[str]) -> Iterator[SpaceExport]:
    """The spaces of an export, one after another: each part is to be read before the next one."""
    rest = iter(lines)
    header = next(rest, None)
    while header is not None:
        following: list[str] = []
        yield SpaceExport(_space_of(header), _until_next_header(header, rest, following))
        header = following[0] if following else None


def _until_next_header(header: str, rest: Iterator[str], following: list[str]) -> Iterator[str]:
    """The lines of one space; the header of the next one is left in ``following``."""
    yield header
    for line in rest:
        if _is_named_header(line):
            following.append(line)
            return
        yield line


def _is_named_header(line: str) -> bool:
    # An entry has an id and a text; only headers have a format, in front.
    return line.startswith('{"format": ') and _space_of(line) is not None


def _space_of(header: str) -> str | None:
    try:
        fields = json.loads(header)
    except (ValueError, RecursionError):
        return None  # the import says what is wrong with the line
    space = fields.get(_SPACE) if isinstance(fields, dict) else None
    return space if isinstance(space, str) else None
