"""Erase entries and spaces, for ``Memory.forget`` and ``Memory.forget_space``.

A reply may quote an entry if its model was shown the entry and the two share words. Such replies
are entries like others: a receipt names them, and they are erased on request.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final

from treering import corrections
from treering.errors import InputError, UnknownName
from treering.hints import Hint
from treering.ingest.withheld import held_alone
from treering.journal import entries, writing
from treering.journal.fields import required_name
from treering.journal.space import Space, SpaceReader, SpaceWriter
from treering.records import Filter, Forgotten
from treering.search.terms import terms
from treering.views.erase import Eraser, matching_seqs, refuse_hidden, retry
from treering.views.registry import Views

WHOLE: Final = 2**31 - 1
"""More characters than a text has."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """A ``forget`` in a space: the condition that entries meet, and whether replies go, too."""

    space: Space
    views: Views
    condition: Filter
    replies: bool

    def forget(self, entry_ids: Sequence[str]) -> Forgotten:
        """Erase the entries of some ids that meet the condition; without ids, all that meet it.

        Withheld entries and the history of all of them go, too. Raise UnknownName, InputError,
        JournalCorrupt. Nothing is erased then.
        """
        space, condition = self.space, self.condition
        erased: Forgotten | None = None
        try:
            erased = self._forget_visible(entry_ids)
        except UnknownName:
            held = held_alone(space, entry_ids)
            if entry_ids and not held:
                raise
            if rest := [each for each in entry_ids if each not in held]:
                erased = self._forget_visible(rest)
            erased = corrections.erase_withheld(space, entry_ids, condition, erased)
            if erased is None:
                raise
        else:
            if space.latest is not None and not space.latest.has_corrections:
                return erased
            erased = corrections.erase_withheld(space, entry_ids, condition, erased) or erased
        drop_waiting_messages(space, erased.entries)
        return erased

    def _forget_visible(self, entry_ids: Sequence[str]) -> Forgotten:
        """Erase entries that are not withheld."""
        condition, eraser = self.condition, self.views.eraser
        if condition.as_of is not None:
            raise InputError("as_of looks back; to erase older entries give until")
        if not entry_ids and condition == Filter(omit=condition.omit):
            raise InputError("no entries are chosen to forget", hint=Hint.CHOOSE_ENTRIES)

        def erase(writer: SpaceWriter) -> Forgotten:
            writer.ensure_there()
            doomed = seqs
            if doomed is None:  # few: found in the transaction that erases them
                doomed = matching_seqs(writer, entry_ids, condition) if writer.is_there else []
            if not doomed:
                raise UnknownName(f"nothing to forget in space {writer.name!r}: no entry matches")
            forgotten = _erase_with_replies(writer, eraser, doomed, replies=self.replies)
            drop_waiting_messages(self.space, forgotten.entries)
            return forgotten

        try:
            seqs = None if entry_ids else _all_matching(self.space, condition)
            return eraser.forget(erase)
        except UnknownName:  # perhaps forgotten already, and still in the bytes of the file
            retry(self.space.database)
            raise


def _all_matching(space: Space, condition: Filter) -> list[int]:
    """Return all entries that meet a filter. Raise JournalCorrupt, UnknownName."""
    with space.read() as reader:
        reader.ensure_there()
        if not reader.is_there:
            return []
        refuse_hidden(reader, condition)  # here: counting all entries must not hold up writers
        return matching_seqs(reader, (), condition)


def find_replies(space: Space, entry_ids: Collection[str]) -> list[str]:
    """Return the replies that may quote entries, which ``forget`` erases on request."""
    with space.read() as reader:
        seqs = entries.seqs_of(reader, reader.id, entry_ids)
        shown = {entry for entry, _ in writing.replies_to(reader, seqs)}
        return entries.identities(reader, _quoting_replies(reader, shown, seqs))


def _erase_with_replies(
    writer: SpaceWriter, eraser: Eraser, seqs: Sequence[int], *, replies: bool
) -> Forgotten:
    """Erase entries, and with ``replies`` those that may quote them; the receipt names these."""
    shown = {entry for entry, _ in writing.replies_to(writer, seqs)}
    if not shown:
        return eraser.erase(writer, seqs)
    quoting = _quoting_replies(writer, shown, seqs)
    named = entries.identities(writer, quoting)
    forgotten = eraser.erase(writer, [*seqs, *quoting] if replies else seqs)
    writing.drop_shown(writer, seqs)
    return replace(forgotten, replies=tuple(named))


def _quoting_replies(
    reader: SpaceReader, shown: Collection[int], without: Iterable[int]
) -> list[int]:
    """The replies that may quote entries, also by way of another reply that quotes them.

    In the order they were given, but for those among ``without``.
    """
    words = {seq: _words(text) for seq, text in entries.beginnings(reader, shown, WHOLE).items()}
    waiting = list(words)
    while waiting:
        pairs = [pair for pair in writing.replies_to(reader, waiting) if pair[1] not in words]
        texts = entries.beginnings(reader, [reply for _, reply in pairs], WHOLE)
        waiting = []
        for entry, reply in pairs:
            if reply not in words and words[entry] & _words(texts.get(reply, "")):
                words[reply] = words[entry]
                waiting.append(reply)
    return sorted(words.keys() - set(shown) - set(without))


def _words(text: str) -> frozenset[int]:
    return frozenset(int(term) for term in terms(text)[:, 0])


def drop_waiting_messages(space: Space, ids: Collection[str]) -> None:
    """Remove copies of entries that hooks have left in their inbox, before these are erased."""
    file = space.database.file
    if file is None:  # agents use memories in files
        return
    from treering.hooks import inbox

    if any(inbox.waiting_jobs(str(file))):
        from treering.hooks.jobs import drop_waiting

        drop_waiting(str(file), space.name, ids)


def forget_space(space: Space, views: Views, name: str) -> Forgotten:
    """Erase a space of the same memory. Raise UnknownName."""
    checked = required_name(name, "space")
    file = space.database.file
    from treering.hooks.jobs import removing_space

    hidden = Space(space.database, checked).withheld
    with nullcontext() if file is None else removing_space(str(file), checked):
        with hidden.read() as reader:
            is_there = reader.is_there
        if is_there:
            views.eraser.forget_space(hidden.name)
        return views.eraser.forget_space(checked)
