"""Forgetting, and the replies that may quote what is forgotten.

A reply may quote an entry if its model was shown it and the two share words. Such replies are
entries like others: they are named, and erased on request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from treering.journal import entries, reply_sources
from treering.journal.space import SpaceReader, SpaceWriter
from treering.records import Forgotten
from treering.search.terms import terms
from treering.views.erase import Eraser

Words = frozenset[int]
"""The words of a text, as hashes; stop words are left out."""


def erase(writer: SpaceWriter, eraser: Eraser, seqs: Sequence[int], *, replies: bool) -> Forgotten:
    """Erase entries; with ``replies`` what may quote them, too, else the receipt names that."""
    shown = {entry for entry, _ in reply_sources.replies_to(writer, seqs)}
    if not shown:
        return eraser.erase(writer, seqs)
    words = {seq: _words(text) for seq, text in reply_sources.texts(writer, shown).items()}
    quoting = _quoting(writer, words, seqs)
    named = entries.identities(writer, quoting)
    forgotten = eraser.erase(writer, [*seqs, *quoting] if replies else seqs)
    reply_sources.drop(writer, seqs)
    return replace(forgotten, replies=tuple(named))


def _quoting(
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
