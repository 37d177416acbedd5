"""Store the entries of an import and the notes on them, within a transaction."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from treering.errors import InputError, JournalFull, UnknownName
from treering.ingest.exchange import SupersededLine
from treering.journal import entries, ledger, sources, supersession, tombstones, writing
from treering.journal.sources import FileSource
from treering.journal.space import SpaceWriter
from treering.journal.tombstones import Tombstone
from treering.journal.writing import AppendResult, Draft
from treering.records import Receipt
from treering.views.memos import changes
from treering.views.settings import choices_of
from treering.views.tree import store as tree_store

log = logging.getLogger("treering")

SameText = MutableMapping[str, str]
"""Ids of an import whose text its source has under another id, and that id."""

Item = tuple[str, Draft | FileSource | SupersededLine | Tombstone]
"""A source with an entry of it, or with the file that it was read from; no source, and two entries
of which one holds instead of the other, or an entry that was forgotten."""

READ_AHEAD_ITEMS = 1_000
READ_AHEAD_CHARS = 1 << 19
"""Of messages, a file or an import that are in main memory at a time."""

ItemParts = Callable[[], Iterator[Sequence[Item]]]
"""Returns the items of an import in parts, as often as it is called."""

FORGOTTEN = "messages that were forgotten here"
"""Why an import leaves them out."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The way to store entries.

    ``keeps``: an entry whose id is here already stays as it is, whatever is under that id now, and
    what cannot be said of two entries any more is left out; else both are errors. ``appends``: the
    source no longer holds just what a file brought. ``again_forgotten``: entries that were
    forgotten are taken in, too.
    ``settings`` are those of an import, and None for anything else. Unless ``is_checked``, a space
    may exceed its quota.
    """

    keeps: bool = False
    appends: bool = False
    settings: dict[str, Any] | None = None
    again_forgotten: bool = False
    is_checked: bool = True

    def finish(self, writer: SpaceWriter) -> None:
        """Do what comes after the last entry, in its transaction. Raises InputError."""
        if self.settings is None:
            return
        changes.apply(writer)
        if not self.settings:
            return
        before = ledger.settings(writer)
        ledger.save_settings(writer, self.settings)
        if choices_of(before).growth != choices_of(self.settings).growth:
            tree_store.fell(writer)


@contextmanager
def read_items(items: Iterable[Item]) -> Iterator[ItemParts]:
    """Read all items, and yield them.

    No transaction may be open: items may come slowly, or from code that uses the memory itself. The
    first part stays in main memory, the others go to a temporary file, which has no name.

    Raises JournalFull, and the errors of ``items``.
    """
    from tempfile import SpooledTemporaryFile  # here, as it takes long to import

    read = _divide(items)
    first, others = next(read, []), 0
    with SpooledTemporaryFile(max_size=1) as file:
        for part in read:
            try:
                pickle.dump(part, file)
            except OSError as error:
                raise JournalFull(
                    f"a temporary file cannot be written ({error}); nothing was stored. Free some "
                    "disk space, or set TMPDIR to another folder"
                ) from error
            others += 1

        def parts() -> Iterator[Sequence[Item]]:
            yield first
            file.seek(0)
            for _ in range(others):
                yield pickle.load(file)

        yield parts


def _divide(items: Iterable[Item]) -> Iterator[list[Item]]:
    part, chars = list[Item](), 0
    for item in items:
        part.append(item)
        chars += len(item[1].text) if isinstance(item[1], Draft) else 0
        if len(part) >= READ_AHEAD_ITEMS or chars > READ_AHEAD_CHARS:
            yield part
            part, chars = [], 0
    yield part


def store_items(
    writer: SpaceWriter,
    items: Sequence[Item],
    plan: Plan,
    same: SameText | None = None,
) -> Receipt:
    """Store items in their order; ``same`` is that of the items before, and is added to.

    Raises InputError for an id that is here with another text, and for a circle of entries that
    supersede each other, unless kept.
    """
    same = {} if same is None else same
    receipts: list[Receipt] = []
    for (source, _), group in groupby(items, lambda item: (item[0], isinstance(item[1], Draft))):
        members = [item for _, item in group]
        drafts = [item for item in members if isinstance(item, Draft)]
        if drafts:
            place = sources.source_id(writer, writer.id, source)
            done, receipt = _append(writer, source, place, drafts, plan, same)
            receipts.append(receipt)
            if not done.new:  # all are here under other sources: this one would hold nothing
                sources.drop_empty_sources(writer, writer.id, [place])
            continue
        erased = [item for item in members if isinstance(item, Tombstone)]
        if erased:
            tombstones.add(writer, erased)
        for item in members:
            if isinstance(item, FileSource):
                if item.digest is not None:
                    sources.source_id(writer, writer.id, source)
                sources.set_file(writer, writer.id, item)
            elif isinstance(item, SupersededLine):
                _say(writer, item, plan, same)
    return Receipt.total(receipts)


def _say(writer: SpaceWriter, line: SupersededLine, plan: Plan, same: SameText) -> None:
    older, newer = same.get(line.older, line.older), same.get(line.newer, line.newer)
    try:
        supersede(writer, older, newer)
    except InputError as error:
        # An export lacks entries that are damaged or were forgotten.
        if not plan.keeps and not isinstance(error, UnknownName):
            raise
        log.warning("left out that %r is superseded by %r: %s", older, newer, error)


def supersede(writer: SpaceWriter, old: str, new: str | None) -> None:
    """Let an entry hold instead of another; with None, let the other hold again.

    Raises UnknownName, InputError.
    """
    older = entries.seq_of(writer, writer.id, old)
    if new is None:
        if not supersession.take_back(writer, older):
            raise InputError(f"{old!r} is not marked as superseded; there is nothing to undo")
        return
    newer = entries.seq_of(writer, writer.id, new)
    supersession.put(writer, writer.id, older, newer)


def _append(
    writer: SpaceWriter,
    source: str,
    place: int,
    drafts: Sequence[Draft],
    plan: Plan,
    same: SameText,
) -> tuple[AppendResult, Receipt]:
    wanted = _without_forgotten(writer, drafts, plan)
    new = _new_ids(writer, wanted) if plan.keeps else wanted
    queue = changes.VIEW if source == changes.SOURCE else None
    done = writing.append(writer, writer.id, place, new, queue, is_checked=plan.is_checked)
    ids = done.ids
    if plan.appends and ids:
        sources.leave_file(writer, writer.id, place)
    same.update(_same_text(writer, place, new, ids))
    forgotten = len(drafts) - len(wanted)
    return done, Receipt(
        ids=tuple(ids),
        unchanged=done.unchanged + len(wanted) - len(new),
        omitted={FORGOTTEN: forgotten} if forgotten else {},
    )


def _without_forgotten(writer: SpaceWriter, drafts: Sequence[Draft], plan: Plan) -> Sequence[Draft]:
    """The drafts but for those that were forgotten; or all of them, on purpose, and for good."""
    ids = [draft.id for draft in drafts if draft.id]
    if plan.again_forgotten:
        tombstones.drop(writer, ids)
        return drafts
    erased = tombstones.erased_among(writer, ids) if ids else ()
    return [draft for draft in drafts if draft.id not in erased] if erased else drafts


def _same_text(
    writer: SpaceWriter, place: int, drafts: Sequence[Draft], stored: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """The ids of drafts that are here under another id, and that id."""
    left = {draft.id for draft in drafts if draft.id is not None}.difference(stored)
    if not left:
        return
    left.difference_update(entries.digests(writer, writer.id, left))
    for draft in drafts:
        if draft.id in left:
            here = entries.id_of_digest(writer, place, draft.digest())
            if here is not None:
                yield draft.id, here


def _new_ids(writer: SpaceWriter, drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts whose ids are not here, nor come before among them."""
    here = set(entries.digests(writer, writer.id, [draft.id for draft in drafts if draft.id]))
    new: list[Draft] = []
    for draft in drafts:
        if draft.id is None or draft.id not in here:
            new.append(draft)
            here |= {draft.id} if draft.id else set()
    return new
