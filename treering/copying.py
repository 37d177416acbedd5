"""Copying a space into another memory: of a file, a server or PostgreSQL, each into each.

A copy imports the export of the space, batch by batch. Each batch is durable, so an interrupted
copy goes on. In the end both sides are read and compared line by line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from treering.errors import CopyMismatch, InputError, JournalCorrupt, UnknownName
from treering.ingest import exchange
from treering.ingest.drafts import Numbering
from treering.journal.tombstones import Tombstone
from treering.journal.writing import Draft
from treering.memory import Memory
from treering.records import Progress, Receipt

BATCH_ENTRIES: Final = 500
BATCH_CHARS: Final = 1 << 18
"""A batch is one transaction of the target, and one request where that is on a server."""

_DIGEST_BYTES: Final = 16
_NO_SETTINGS: Final = exchange.header({})


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
    the tree are made anew; see ``Memory.export`` for what is not in one. Safe to interrupt:
    called again, it goes on, also when the source has gained entries.

    Raises InputError for a target that holds anything that the source does not, CopyMismatch when
    the source has changed meanwhile, and JournalCorrupt naming what is damaged in the source, after
    all else was copied.
    """
    space = source.stats().space
    there = _Lines.of_target(target)
    _refuse_others(space, there, source)
    sent = _Lines()
    receipts = _send(source, target, there, sent, progress)
    now, copied = _Lines.from_memory(source), _Lines.from_memory(target)
    _refuse_difference(sent, now, copied)
    if now.damaged is not None:
        raise now.damaged
    return SpaceCopy(
        space=space,
        entries=now.entries,
        added=sum(receipt.added for receipt in receipts),
        pending=receipts[-1].pending,
        digest=now.digest(),
    )


def _refuse_others(space: str, there: _Lines, source: Memory) -> None:
    """Raise InputError if a target holds lines that the source does not."""
    # A target that is empty costs no reading.
    others = len(there.digests - _Lines.from_memory(source).digests) if there.digests else 0
    if others:
        raise InputError(
            f"nothing was copied to space {space!r}: the target has {others:,} entries or notes "
            "that the source does not have, or that differ there; copy into a space that is empty "
            "or holds part of a copy. To add to a space, export and import"
        )


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

    @classmethod
    def of_target(cls, memory: Memory) -> _Lines:
        """Those of a space that need not be there yet. Raises JournalCorrupt."""
        try:
            memory.stats()  # as a server says so before it begins to answer, not in its export
        except UnknownName:  # the first line that is taken in makes it
            return cls()
        lines = cls.from_memory(memory)
        if lines.damaged is not None:
            raise lines.damaged
        return lines

    def read(self, memory: Memory) -> Iterator[tuple[str, bytes]]:
        """Each line after the header with its digest, which is noted. Damage is noted, too."""
        exported = memory.export()
        self.settings = json.loads(next(exported))["settings"]
        return self._digest_lines(exported)

    def _digest_lines(self, exported: Iterator[str]) -> Iterator[tuple[str, bytes]]:
        try:
            for text in exported:
                fields = json.loads(text)
                canonical = json.dumps(fields, sort_keys=True).encode()
                digest = hashlib.sha256(canonical).digest()[:_DIGEST_BYTES]
                if "forgotten" not in fields:  # each side may have forgotten other entries
                    self.digests.add(digest)
                self.entries += "id" in fields
                yield text, digest
        except JournalCorrupt as error:  # it comes after all that can be read
            self.damaged = error

    def digest(self) -> str:
        """Return one digest of all lines, in any order."""
        return hashlib.sha256(b"".join(sorted(self.digests))).hexdigest()


def _send(
    source: Memory, target: Memory, there: _Lines, sent: _Lines, progress: Progress | None
) -> list[Receipt]:
    """Import the missing entries, in batches that are durable one by one."""
    total = source.stats().entries
    lines = sent.read(source)
    # First the settings, because the views derive rows by them.
    receipts = [target.import_([exchange.header(sent.settings)], settings=True)]
    last: list[str] = []
    for batch in _batches(_missing_lines(lines, there, last)):
        receipts.append(target.import_([_NO_SETTINGS, *batch]))
        if progress is not None:
            progress(sent.entries, max(total, sent.entries))
    # Files and supersessions come last, because they name entries; those of damaged entries are
    # left out.
    receipts.append(target.import_([exchange.transcript_header(), *last]))
    return receipts


def _missing_lines(
    lines: Iterator[tuple[str, bytes]], there: _Lines, last: list[str]
) -> Iterator[str]:
    """The lines of entries that the target does not hold; lines of other kinds go to ``last``."""
    numbering = Numbering()
    for text, digest in lines:
        [parsed] = exchange.read_entries([text])
        if isinstance(parsed, exchange.SupersededLine | exchange.WithheldLine | Tombstone):
            last.append(text)
            continue
        if not isinstance(parsed[1], Draft):
            last.append(text)
            continue
        # Equal entries are numbered across batches: in the target, too, each is one of its own.
        key = numbering.number(parsed[1], parsed[0]).key
        if digest not in there.digests:
            yield exchange.with_repeat(text, int(key)) if key else text


def _batches(lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield the lines in batches."""
    batch: list[str] = []
    chars = 0
    for text in lines:
        batch.append(text)
        chars += len(text)
        if len(batch) >= BATCH_ENTRIES or chars >= BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


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
