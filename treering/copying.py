"""Copying a space into another memory: of a file, a server or PostgreSQL, each into each.

A copy is an import of the export of the space. In the end both sides are read and compared line by
line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from treering.errors import CopyMismatch, InputError, JournalCorrupt, UnknownName
from treering.memory import Memory
from treering.records import Progress

_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class SpaceCopy:
    """The result of a copy of a space; both sides hold the same now.

    ``added`` of the ``entries`` were not there before; ``pending`` are not fully searchable yet.
    ``digest`` is of all lines of the export but its header and what was forgotten, in hexadecimal:
    equal spaces have equal ones.
    """

    space: str
    entries: int
    added: int
    pending: int
    digest: str


def copy_space(source: Memory, target: Memory, *, progress: Progress | None = None) -> SpaceCopy:
    """Copy the space of a memory into the empty space of another one; compare both in the end.

    Entries keep their ids, places, times and metadata, the space its settings. Vectors, facts and
    the tree are made anew; see ``Memory.export`` for what is not in one. All entries are copied or
    none. Called again, it copies what the source has gained.

    Raises InputError for a target that holds anything that the source does not, CopyMismatch when
    the source has changed meanwhile, and JournalCorrupt naming what is damaged in the source, after
    all else was copied.
    """
    space = source.stats().space
    _refuse_others(space, source, target)
    sent = _Lines()
    receipt = target.import_(sent.read(source), settings=True, progress=progress)
    now, copied = _Lines.from_memory(source), _Lines.from_memory(target)
    _refuse_difference(sent, now, copied)
    if now.damaged is not None:
        raise now.damaged
    return SpaceCopy(space, now.entries, receipt.added, receipt.pending, now.digest())


@dataclass(slots=True)
class _Lines:
    """The lines of an export, as digests: some hundred bytes of memory each."""

    settings: dict[str, Any] = field(default_factory=dict)
    digests: set[bytes] = field(default_factory=set)
    entries: int = 0
    damaged: JournalCorrupt | None = None

    @classmethod
    def from_memory(cls, memory: Memory) -> _Lines:
        """Those of a space as it is now."""
        lines = cls()
        for _ in lines.read(memory):
            pass
        return lines

    def read(self, memory: Memory) -> Iterator[str]:
        """Yield each line; note its digest, or the settings, or the damage."""
        exported = memory.export()
        header = next(exported)
        self.settings = json.loads(header)["settings"]
        yield header
        try:
            for text in exported:
                fields = json.loads(text)
                if "forgotten" not in fields:  # each side may have forgotten other entries
                    canonical = json.dumps(fields, sort_keys=True).encode()
                    self.digests.add(hashlib.sha256(canonical).digest()[:_DIGEST_BYTES])
                self.entries += "id" in fields
                yield text
        except JournalCorrupt as error:  # it comes after all that can be read
            self.damaged = error

    def digest(self) -> str:
        """Return one digest of all lines, in any order."""
        return hashlib.sha256(b"".join(sorted(self.digests))).hexdigest()


def _refuse_others(space: str, source: Memory, target: Memory) -> None:
    """Raise InputError if the target holds lines that the source does not, or is damaged."""
    try:
        target.stats()  # a server says so before it begins to answer, not in its export
    except UnknownName:  # the import makes the space
        return
    there = _Lines.from_memory(target)
    if there.damaged is not None:
        raise there.damaged
    # An empty target costs no reading of the source.
    others = len(there.digests - _Lines.from_memory(source).digests) if there.digests else 0
    if others:
        raise InputError(
            f"nothing was copied to space {space!r}: the target has {others:,} entries or notes "
            "that the source does not have, or that differ there; copy into a space that is empty "
            "or holds part of a copy. To add to a space, export and import"
        )


def _refuse_difference(sent: _Lines, now: _Lines, copied: _Lines) -> None:
    """Raise CopyMismatch unless the target holds what the source does now."""
    if copied.damaged is not None:
        raise copied.damaged
    missing = len(now.digests - copied.digests)
    others = len(copied.digests - now.digests)
    if not missing and not others and now.settings == copied.settings:
        return
    changed = sent.digests != now.digests or sent.settings != now.settings
    why = "the source has changed while it was copied" if changed else "the copy differs"
    again = "remove the space of the target and copy again" if others else "copy again to go on"
    raise CopyMismatch(
        f"{why}: {missing:,} lines of its export are not in the target, {others:,} of the target's "
        f"are not in the source's, settings are "
        f"{'equal' if now.settings == copied.settings else 'different'}; {again}"
    )
