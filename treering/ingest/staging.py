"""Imports too large for one transaction: all or nothing, while others write.

SQLite has one writer at a time, so a large import comes in slices, each in a transaction of its
own. They wait in tables of their own first, invisible to searches; an invalid entry is found by
then, and nothing is left of the import. Once all slices are there, one transaction marks them as
whole. From then on it will be finished, slice by slice: if the process is killed, the next one that
opens the memory, in any space, continues. A process that is killed before leaves slices that the
next one removes.

An import belongs to an attempt, whose process is noted with it. Every transaction checks this
first, so that an import that another process has taken over cannot add to slices that are being
removed.

A slice is blanked in the transaction that takes it in, so that no text is in the file twice.
"""

from __future__ import annotations

import logging
import sys
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Final

import numpy as np

from treering.errors import InputError, JournalError, TreeringError, UnknownName
from treering.ingest import slices
from treering.ingest.exchange import SupersededLine
from treering.ingest.slices import Item, Plan
from treering.journal import (
    damage,
    entries,
    leases,
    sources,
    staged,
    supersession,
    writing,
)
from treering.journal.contract import Database
from treering.journal.quota import UNLIMITED, Size, read_size
from treering.journal.space import Space, SpaceWriter
from treering.journal.staged import StagedImport
from treering.journal.writing import Draft
from treering.records import Receipt
from treering.views.erase import queue_space_scrub
from treering.views.memos import changes

log = logging.getLogger("treering")

MAX_PAUSE_S: Final = 0.05
"""Between two slices as long a pause as the last one took, but no longer: a waiting process polls
the file."""

_NO_SLICE: Final = -1


Finish = Callable[[Plan, SpaceWriter], None]
"""Does what comes after the last entry: at least ``Plan.finish``."""


class WasCutShort(Exception):
    """An interrupted import waits; this ends a transaction, and no caller sees it."""


class Staging:
    """The staged imports of one space."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def take_in(
        self, lists: Iterable[Sequence[Item]], plan: Plan, finish: Finish = Plan.finish
    ) -> Iterator[Receipt]:
        """Take in slices, all or nothing: nothing if reading them raises, or an entry cannot be.

        There is a receipt for each, so that a caller need not keep the ids of all. ``finish`` is
        called in the last transaction. Raises InputError for an id that is here already, or comes
        twice, with another text, and UnknownName for one that is superseded and nowhere.
        """
        with leases.attempt() as attempt:
            mine = self._begin(attempt, plan)
            try:
                self._stage(mine, lists, keeps=plan.keeps)
            except BaseException:
                self._discard(mine)
                raise
            yield from self._move(mine, plan, finish)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """A context for another large import, whose process indexes it at the end."""
        with leases.attempt() as attempt:
            mine = self._begin(attempt, Plan())
            try:
                yield
            finally:
                self._discard(mine)

    def recover(self) -> None:
        """Finish what processes that are gone had staged as a whole; remove what they had not."""
        for left in staged.abandoned_imports(self._space.database, self._space.name):
            self._recover(left)
        self._sweep()

    def _recover(self, left: StagedImport) -> None:
        with leases.attempt() as attempt:
            mine = replace(left, attempt=attempt)
            if not self._take_over(left, mine):
                return
            if left.plan is None:
                self._discard(mine)
                return
            log.warning("space %r: an import that was cut short is finished now", left.space)
            with suppress(UnknownName):  # the space was removed meanwhile
                for _ in self._move(mine, Plan.from_json(left.plan)):
                    continue  # without a caller for its receipts

    # ------------------------------------------------------------------ inside

    def _begin(self, attempt: int, plan: Plan) -> StagedImport:
        presence = self._space.database.presence()
        with self._space.write() as writer:
            return staged.begin(writer, self._space.name, presence, attempt, plan.to_json())

    @contextmanager
    def _write(self, mine: StagedImport) -> Iterator[SpaceWriter]:
        """A write transaction of an import. Raises UnknownName if the import is not ours."""
        presence = self._space.database.presence()
        with self._space.write() as writer:
            if not staged.hold(writer, mine, presence):
                raise UnknownName(
                    f"the space {mine.space!r} was removed during this import, or another process "
                    "took the import over; import again to create the space"
                )
            yield writer

    def _stage(self, mine: StagedImport, lists: Iterable[Sequence[Item]], *, keeps: bool) -> None:
        """Write the slices, and once all are there, say so."""
        ids = _Identities()
        for items in lists:
            ids.add(items)
            if not keeps:
                self._refuse(items)
            began = time.monotonic()
            with self._write(mine) as writer:
                self._reserve(writer, mine, items)
                staged.put(writer, mine, slices.to_json(items))
            _give_way(began)
        if not keeps:
            ids.refuse_contradictions()
        with self._space.read() as reader:
            for entry_id in ids.not_among_them():
                entries.seq_of(reader, reader.id, entry_id)
            if ids.superseded:
                _refuse_circles(supersession.ids(reader, reader.id), ids.superseded)
        with self._write(mine) as writer:
            staged.set_whole(writer, mine)

    def _reserve(self, writer: SpaceWriter, mine: StagedImport, items: Sequence[Item]) -> None:
        """Reserve room for the new entries of a slice. Raise QuotaExceeded."""
        if writer.quota == UNLIMITED:
            return
        size = Size()
        drafts = [(source, item) for source, item in items if isinstance(item, Draft)]
        for source, group in groupby(drafts, key=itemgetter(0)):
            place = sources.find_source(writer, writer.id, source)
            size = size.plus(
                writing.measure_new(writer, writer.id, place, [draft for _, draft in group])
            )
        writer.quota.ensure_room(writer, size)
        staged.reserve(writer, mine, size)

    def _refuse(self, items: Sequence[Item]) -> None:
        """Raise InputError for an entry that could not be stored."""
        drafts = [item for _, item in items if isinstance(item, Draft)]
        with self._space.read() as reader:
            writing.refuse_other_texts(reader, reader.id, drafts)
        for source, draft in items:
            if source == changes.SOURCE and isinstance(draft, Draft):
                changes.check(draft.metadata)

    def _move(
        self, mine: StagedImport, plan: Plan, finish: Finish = Plan.finish
    ) -> Iterator[Receipt]:
        """Take in the slices that wait, each in a transaction; then end it.

        What has come under an id of theirs since that was looked up came later, and stays. What
        was said of two entries is left out if that cannot be said any more, as one of them went.
        """
        same: dict[str, str] = {}
        moved = replace(plan, keeps=True, is_reserved=True)
        last = _NO_SLICE
        while True:
            began = time.monotonic()
            with self._write(mine) as writer:
                waiting = staged.next_slice(writer, mine, last)
                if waiting is None:
                    staged.end(writer, mine)
                    finish(plan, writer)
                    break
                last, content = waiting
                with damage.decoding("a staged slice"):
                    items = slices.from_json(content)
                before = read_size(writer)
                receipt = slices.store(writer, items, moved, same)
                staged.release(writer, mine, read_size(writer).minus(before))
                staged.blank(writer, mine.space, [last])
                if receipt.omitted:  # texts that were forgotten, and are in the bytes of the slice
                    queue_space_scrub(writer)
            _give_way(began)
            yield receipt
        self._sweep()

    def _discard(self, mine: StagedImport) -> None:
        """Remove what was staged. An error leaves it to the next process that opens the memory."""
        try:
            with self._space.read() as reader:
                waiting = staged.waiting_slices(reader, mine)
            for slice_ in waiting:
                began = time.monotonic()
                with self._write(mine) as writer:
                    staged.blank(writer, mine.space, [slice_])
                _give_way(began)
            with self._write(mine) as writer:
                staged.end(writer, mine)
                if waiting:
                    queue_space_scrub(writer)
        except UnknownName:  # another process removes it
            pass
        except JournalError as error:  # the caller must see the first error
            log.warning("the rest of an import is removed later: %s", error)
        self._sweep()

    def _sweep(self) -> None:
        """Delete the slices that were blanked. An error leaves that to a later taking in."""
        try:
            while self._has_blank():
                began = time.monotonic()
                with self._space.write() as writer:
                    staged.drop_blank(writer, self._space.name)
                _give_way(began)
        except JournalError as error:  # the import itself is complete, or discarded
            log.warning("the space of staged slices is freed later: %s", error)

    def _has_blank(self) -> bool:
        with self._space.read() as reader:
            return staged.has_blank(reader, self._space.name)

    def _take_over(self, left: StagedImport, mine: StagedImport) -> bool:
        """Make an import that was left this process's; False if another process was faster."""
        presence = self._space.database.presence()
        with self._space.write() as writer:
            return staged.hold(writer, left, presence, mine.attempt)


def recover_all(database: Database) -> None:
    """As ``Staging.recover``, for all spaces: one may never be opened again. Errors are logged.

    On Windows it does nothing: there no process sees whether another one has a file open.
    """
    if sys.platform == "win32":
        return
    try:
        for name in staged.abandoned_spaces(database):
            Staging(Space(database, name)).recover()
    except TreeringError as error:
        log.warning("an interrupted import is still there; settle() retries: %s", error)


class _Identities:
    """The ids of an import and its texts, as hashes: sixteen bytes an entry."""

    def __init__(self) -> None:
        self._ids, self._texts = array("q"), array("q")
        self.superseded: list[SupersededLine] = []

    def add(self, items: Sequence[Item]) -> None:
        """Note the entries that have ids, and which of two entries holds."""
        for _, item in items:
            if isinstance(item, Draft) and item.id is not None:
                self._ids.append(hash(item.id))
                self._texts.append(hash(item.text))
            elif isinstance(item, SupersededLine):
                self.superseded.append(item)

    def not_among_them(self) -> list[str]:
        """The ids that are spoken of and that none of these entries has."""
        mentioned = {each for line in self.superseded for each in (line.older, line.newer)}
        here = set(self._ids) if mentioned else set()
        return sorted(entry_id for entry_id in mentioned if hash(entry_id) not in here)

    def refuse_contradictions(self) -> None:
        """Raise InputError if an id comes twice, with different texts."""
        ids, texts = (np.array(hashes, dtype=np.int64) for hashes in (self._ids, self._texts))
        order = np.argsort(ids, kind="stable")
        again = (np.diff(ids[order]) == 0) & (np.diff(texts[order]) != 0)
        if again.any():
            number = int(order[1:][again].min()) + 1
            raise InputError(
                f"entry {number} of these has the id of an earlier one and another text; "
                "give every entry an id of its own"
            )


def _refuse_circles(here: Iterable[tuple[str, str]], superseded: Sequence[SupersededLine]) -> None:
    """Raise InputError if lines would let an entry hold instead of itself, by way of others."""
    newer_of = {**dict(here), **{line.older: line.newer for line in superseded}}
    done: set[str] = set()
    for entry in newer_of:
        passed: set[str] = set()
        while entry in newer_of and entry not in done:
            if entry in passed:
                raise InputError(
                    f"{entry!r} is superseded by {newer_of[entry]!r}, which it supersedes itself; "
                    "take one of the two back"
                )
            passed.add(entry)
            entry = newer_of[entry]
        done |= passed


def _give_way(began: float) -> None:
    """Let others write who wait for it."""
    time.sleep(min(time.monotonic() - began, MAX_PAUSE_S))
