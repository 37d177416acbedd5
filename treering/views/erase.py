"""Erasing entries: from the journal, from everything derived, and from the bytes of the file.

Texts of users and vectors are overwritten in place. Other tables with words (``WORDS``,
and those of other packages) are filled again by ``Database.scrub``.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from treering.errors import JournalError, JournalFull, UnknownSpace
from treering.journal import (
    claims,
    entries,
    sources,
    storage,
    stored,
    tombstones,
    vector_blocks,
    work,
    writing,
)
from treering.journal.contract import Database, Writer
from treering.journal.space import UNNAMED, Space, SpaceReader, SpaceWriter, all_models
from treering.journal.writing import Draft, ErasedEntry
from treering.records import Filter, Forgotten
from treering.views.contract import (
    Erased,
    Trace,
    View,
    ViewState,
    attribute_errors,
    reread_kind,
    save_states,
    tables_with,
    view_states,
)
from treering.views.foreign import tables_of

log = logging.getLogger("treering")

WORDS = ("statement", "memo", "node", "code_change", "reply", "work_error")
"""Tables that hold words of entries in rows that are deleted or resized: copies of these may stay
in the file."""

CODE_WORDS = ("code_repository", "code_file")
"""The same of repositories that are indexed."""

_COUNTED = {
    "fragment": "fragments",
    "statement": "statements",
    "memo": "memos",
    "serve_key": "keys",
}
"""The counts of a removed space, by table."""

_TRACES = (
    *(Trace("reply"), Trace("unanswered", "entry"), Trace("claim_entry", "entry")),
    *(Trace("work", but=f"view = '{storage.SCRUB}'"), Trace("work_error")),
)
"""Where something may be noted of an entry besides what views derive from it."""

WAIT_S = 2.0
"""Forgetting waits no longer for others that use the file: scrubbing can be done later."""

RETRY_WAIT_S = 0.2
"""A retry of pending scrubbing waits no longer."""

HOLLOW = 0.25
"""The part of a file that may be blank before ``settle`` gives the space back."""

MIN_BLANKED = 1 << 20
"""Bytes of blank space that no rewriting is worth."""


class Eraser:
    """Erases entries of one space, with all that its views derived from them."""

    def __init__(self, space: Space, views: Sequence[View]) -> None:
        self._space = space
        self._views = views

    def forget(self, work: Callable[[SpaceWriter], Forgotten]) -> Forgotten:
        """Erase entries for good; ``scrubbed`` says whether they have left the file's bytes, too.

        ``work`` calls ``erase`` in a transaction, and may run again. Scrubbing the file comes after
        it and stays queued as pending work until it has been done.
        """
        with _told_if_full():
            forgotten = self._space.change(work)
        return replace(forgotten, scrubbed=self._scrub())

    def erase(self, writer: SpaceWriter, seqs: Sequence[int]) -> Forgotten:
        """``remove``, with the sources that hold nothing then; the file is to be scrubbed.

        Imports do not bring the entries back.
        """
        rows, erased = self.remove(writer, seqs)
        ids = tuple(entry.id for entry in erased)
        tombstones.put(writer, ids)
        numbers = {entry.source for entry in erased}
        files = sorted({entry.path for entry in erased if entry.path})
        names = sources.drop_empty_sources(writer, writer.id, numbers)
        self.queue_scrub(writer)
        return Forgotten(ids, tuple(names), rows, scrubbed=True, files=tuple(files))

    def remove(
        self, writer: SpaceWriter, seqs: Sequence[int]
    ) -> tuple[dict[str, int], list[ErasedEntry]]:
        """Delete entries and everything derived from them.

        Returns the derived rows by kind, and all entries that went: these, then those that views
        named further.
        """
        states = view_states(writer)
        beside = [
            entry
            for view in self._views_with_rows(states)
            for seq, draft in view.redrafts(writer, seqs)
            for entry in self.redraft(writer, seq, draft, scrub=False)
        ]
        rows, further = self._remove_derived(writer, seqs, states)
        erased = writing.erase(writer, list(dict.fromkeys([*seqs, *further])))
        return rows, [*erased, *beside]

    def redraft(
        self, writer: SpaceWriter, seq: int, draft: Draft, *, scrub: bool
    ) -> list[ErasedEntry]:
        """Give an entry new content. The views derive their rows from it again.

        With ``scrub`` the old content is removed from the file's bytes, too. Returns the entries
        that went with what was derived from the old content.
        """
        states = view_states(writer)
        _, further = self._remove_derived(writer, [seq], states)
        erased = writing.erase(writer, further)
        writing.rewrite(writer, seq, draft, is_checked=scrub)
        for view in self._views:
            if view.reads:
                work.enqueue(writer, writer.id, view.reread_kind, [seq])
        if scrub:
            self.queue_scrub(writer)
        return erased

    def queue_scrub(self, writer: SpaceWriter) -> None:
        """Note that the file may hold bytes of erased text until it is scrubbed."""
        storage.queue_scrub(writer, writer.id)

    def forget_space(self, name: str) -> Forgotten:
        """Erase a space of the file with all that it has. Raises UnknownName."""
        with _told_if_full():
            forgotten = _remove_space(self._space.database, name)
        return replace(forgotten, scrubbed=self._scrub())

    def _scrub(self) -> bool:
        """Remove what was erased from the file's bytes; False if it stays pending here."""
        if _scrub(self._space.database, WAIT_S):
            return True
        with self._space.read() as reader:  # it may wait for entries of other spaces alone
            return not self.is_scrub_due(reader)

    def scrub_code(self) -> None:
        """Remove what was erased of repositories; if that has to wait, ``settle`` does it."""
        database = self._space.database
        if not _scrub(database, WAIT_S, further=CODE_WORDS):
            with self._space.write() as writer:
                storage.set_rewrite_due(writer)

    def scrub_pending(self) -> bool:
        """Scrub the file if that is due; rewrite it where that is due, or where much is blank.

        False if it is due and has to wait.
        """
        database = self._space.database
        with database.read() as reader:
            is_hollow = storage.blanked_bytes(reader) > max(database.size() * HOLLOW, MIN_BLANKED)
        if is_hollow:
            with self._space.write() as writer:
                storage.set_rewrite_due(writer)
        return scrub_pending(database, WAIT_S, patient=True)

    def is_scrub_due(self, reader: SpaceReader) -> bool:
        """Whether bytes of erased entries, or of a removed space, may be in the file."""
        return bool(storage.removed_spaces(reader)) or work.is_queued(
            reader, reader.id, [storage.SCRUB]
        )

    def _views_with_rows(self, states: Mapping[str, ViewState]) -> list[View]:
        """The views that have stored anything, those that rest on others first."""
        return [view for view in reversed(self._views) if view.name in states]

    def _drop_uninstalled(self, writer: SpaceWriter, states: Mapping[str, ViewState]) -> None:
        """Empty the tables of views whose package is not installed: nothing else can erase there.

        All of it is derived; the view reads the journal again once its package is back.
        """
        installed = {view.name: states[view.name] for view in self._views if view.name in states}
        gone = states.keys() - installed.keys()
        for name in gone:
            for table in tables_of(writer, name):
                writer.execute(f"DELETE FROM {table} WHERE space = ?", (writer.id,))
            work.drop(writer, writer.id, reread_kind(name))
        if gone:
            save_states(writer, installed)

    def _remove_derived(
        self, writer: SpaceWriter, seqs: Sequence[int], states: Mapping[str, ViewState]
    ) -> tuple[dict[str, int], list[int]]:
        """Delete everything derived from entries that are about to be erased or changed.

        Returns the deleted rows by kind, and further entries that must be erased as well. What was
        derived from the further entries is deleted, too.
        """
        rows: Counter[str] = Counter()
        further: list[int] = []
        waiting = list(seqs)
        self._drop_uninstalled(writer, states)
        # A view may name further entries that must go (a person's change of a memo, say). Other
        # views have derived rows from those, so this repeats until no view names any more.
        while waiting:
            followed = self._views_with_rows(states)
            traces = [*_TRACES, *(trace for view in followed for trace in view.traces)]
            tables = tables_with(writer, traces, waiting)
            named: list[int] = []
            for view in followed:
                erased = Erased(dict.fromkeys(view.kinds, 0))
                if not view.traces or any(trace.table in tables for trace in view.traces):
                    with attribute_errors(view):
                        erased = view.erase(writer, waiting)
                rows.update(erased.rows)
                named += (seq for seq in erased.entries if seq not in seqs)
            self._remove_noted(writer, waiting, tables)
            further += named
            waiting = named
        return dict(rows), further

    def _remove_noted(
        self, writer: SpaceWriter, seqs: Sequence[int], tables: Collection[str]
    ) -> None:
        """Delete what is noted of entries besides what views derive, in those of some tables."""
        space = writer.id
        if "reply" in tables:
            claims.erase_replies(writer, seqs)
        if "unanswered" in tables:
            claims.unmark(writer, seqs)
        if "claim_entry" in tables:
            claims.erase_messages(writer, seqs)
        if "work" in tables:
            for view in self._views:
                work.claim(writer, space, view.reread_kind, seqs)
        if "work_error" in tables:
            work.forget_errors(writer, space)


@contextmanager
def _told_if_full() -> Iterator[None]:
    """Say of a change that erases what it means that there is no room for it.

    Rows that are deleted or changed take room themselves, for the log at least.
    """
    try:
        yield
    except JournalFull as error:
        message = f"nothing was forgotten, and all of it is still there: {error.message}"
        raise JournalFull(message) from error


def _remove_space(database: Database, name: str) -> Forgotten:
    """Delete the rows of a space. Raises UnknownName."""
    with Space(database, name).write() as writer:
        if not writer.is_there and not writer.is_keyed:
            writer.ensure_there()
            raise UnknownSpace(f"there is no space {name!r}: the file has none")
        # A space that only a key names gets its number here: the row keeps the
        # scrubbing of its name queued.
        seqs = list(entries.matching_seqs(writer, writer.id, Filter()))
        erased = entries.identities(writer, seqs)
        tombstones.put(writer, erased)
        names = sources.source_names(writer, writer.id)
        rows = _remove_rows(writer, writer.id, name)
    counts = {_COUNTED[table]: count for table, count in rows.items() if table in _COUNTED}
    return Forgotten(tuple(erased), tuple(names), counts, scrubbed=False)


def _remove_rows(writer: Writer, space: int, name: str) -> dict[str, int]:
    """Delete all rows of a space, by its number and its name; return how many went, by table."""
    writer.share()  # marks of scrubbing go, which others may take off
    storage.blank_space(writer, space)
    for model in all_models(writer):
        vector_blocks.drop(writer, space, model)
    # Rows refer to each other in every direction, so references are checked at the end.
    writer.defer_references()
    gone: dict[str, int] = {}
    for table in writer.tables():
        if "space" in table.columns:
            # Most tables have the number of the space; keys have its name.
            value = name if "space" in table.texts else space
            gone[table.name] = writer.execute(
                f'DELETE FROM "{table.name}" WHERE space = ?', (value,)
            )
    _leave_unnamed(writer, space)
    return {table: count for table, count in gone.items() if count}


def _leave_unnamed(writer: Writer, space: int) -> None:
    """Keep the row of a space without its name, and with it the scrubbing of the file queued."""
    writer.execute(
        "UPDATE space SET name = ?, model = NULL, next = NULL, settings = '{}',"
        " views = '{}' WHERE id = ?",
        (f"{UNNAMED}{space}", space),
    )
    storage.queue_scrub(writer, space)


def scrub_pending(database: Database, wait_s: float, *, patient: bool = False) -> bool:
    """Scrub the file if that is due for any space. False if it has to wait."""
    with database.read() as reader:
        is_due = storage.pending_scrubs(reader) or storage.removed_spaces(reader)
        is_rewrite_due = patient and storage.is_rewrite_due(reader)
    return not (is_due or is_rewrite_due) or _scrub(database, wait_s, patient=patient)


def retry(database: Database) -> None:
    """Scrub the file if that is due, almost without waiting; else it stays due, and is logged."""
    try:
        if not scrub_pending(database, RETRY_WAIT_S):
            log.warning(
                "erased text may still be in the bytes of %s, which is being used or large; "
                "settle() removes it",
                database.url,
            )
    except JournalError as error:
        log.warning("erased text may still be in the file's bytes: %s", error)


def _scrub(
    database: Database, wait_s: float, *, patient: bool = False, further: Sequence[str] = ()
) -> bool:
    try:
        return database.scrub([*WORDS, *further], patient=patient, wait_s=wait_s)
    except JournalFull as error:  # rewriting needs as much room again as the file has
        log.warning("erased, but not yet from the file's bytes; settle() retries: %s", error)
        return False


def refuse_hidden(reader: SpaceReader, condition: Filter) -> None:
    """Raise JournalCorrupt if a damaged index hides entries that may meet a filter."""
    source = condition.source
    named = None if source is None else sources.matching_sources(reader, reader.id, source)
    stored.refuse_incomplete(reader, named)


def matching_seqs(reader: SpaceReader, entry_ids: Sequence[str], condition: Filter) -> list[int]:
    """The entries of these ids that meet a filter; with no id, all that meet it.

    Raises UnknownName for an id that is not there.
    """
    if entry_ids:  # not by reading all entries
        return entries.matching_ids(reader, reader.id, condition, entry_ids)
    return list(entries.matching_seqs(reader, reader.id, condition))
