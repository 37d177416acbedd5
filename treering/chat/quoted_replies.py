"""Replies that may quote forgotten entries, whether stored already or still being written.

A reply may quote an entry if its model was shown the entry and the two share words. Such replies
are entries like others: a receipt names them, and they are erased on request. A reply is not stored
if digests show that a shown entry was forgotten or changed while it was written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from treering.journal import entries, reply_sources
from treering.journal.space import SpaceReader, SpaceWriter
from treering.records import Forgotten
from treering.search.marks import Marker, Quote
from treering.search.terms import terms
from treering.views.erase import Eraser

Words = frozenset[int]
"""The words of a text as hashes, without stop words."""


def erase_entries(
    writer: SpaceWriter, eraser: Eraser, seqs: Sequence[int], *, replies: bool
) -> Forgotten:
    """Erase entries, and with ``replies`` those that may quote them; the receipt names these."""
    shown = {entry for entry, _ in reply_sources.replies_to(writer, seqs)}
    if not shown:
        return eraser.erase(writer, seqs)
    words = {seq: _words(text) for seq, text in reply_sources.texts(writer, shown).items()}
    replies_quoting = _quoting_replies(writer, words, seqs)
    named = entries.identities(writer, replies_quoting)
    forgotten = eraser.erase(writer, [*seqs, *replies_quoting] if replies else seqs)
    reply_sources.drop(writer, seqs)
    return replace(forgotten, replies=tuple(named))


def shown_digests(reader: SpaceReader, shown: Collection[str], marks: Marker) -> dict[str, bytes]:
    """The digests of shown entries, and of those that are quoted as newer than them.

    Ids that the space does not have are left out.
    """
    entry_by_seq = entries.by_seq(reader, entries.seqs_of(reader, reader.id, shown))
    quotes = [Quote.whole(seq, entry) for seq, entry in entry_by_seq.items()]
    newer = {
        newer.entry_id
        for mark in marks(reader, quotes)
        for newer in (mark.superseded_by, mark.stale)
        if newer is not None
    }
    return entries.digests(reader, reader.id, newer.union(shown))


def changed_entries(reader: SpaceReader, shown: Mapping[str, bytes]) -> list[str]:
    """The ids among those of ``shown_digests`` that are gone since, or hold another text."""
    now = entries.digests(reader, reader.id, shown.keys())
    return [entry for entry, digest in shown.items() if now.get(entry) != digest]


def _quoting_replies(
    reader: SpaceReader, words_shown: Mapping[int, Words], without: Iterable[int]
) -> list[int]:
    """The replies that may quote entries, also by way of another reply that quotes them.

    In the order they were given, but for those among ``without``.
    """
    words = dict(words_shown)
    waiting = list(words)
    while waiting:
        pairs = [pair for pair in reply_sources.replies_to(reader, waiting) if pair[1] not in words]
        texts = reply_sources.texts(reader, [reply for _, reply in pairs])
        waiting = []
        for entry, reply in pairs:
            if reply not in words and words[entry] & _words(texts.get(reply, "")):
                words[reply] = words[entry]
                waiting.append(reply)
    return sorted(words.keys() - words_shown.keys() - set(without))


def _words(text: str) -> Words:
    return frozenset(int(term) for term in terms(text)[:, 0])
