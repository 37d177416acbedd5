"""Forgetting, and the replies that may quote what is forgotten.

A reply may quote an entry if its model was shown it and the two share words. Such replies are
entries like others: they are named, and erased on request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from treering.journal import entries, reply_sources
from treering.journal.space import Space, SpaceReader
from treering.records import Forgotten
from treering.search.terms import terms
from treering.views.erase import Eraser

Words = frozenset[int]
"""The words of a text, as hashes; stop words are left out."""


def forget(space: Space, eraser: Eraser, seqs: Sequence[int], *, replies: bool) -> Forgotten:
    """Erase entries; with ``replies`` what may quote them, too, else the receipt names that."""
    with space.read() as reader:
        words = _words_shown(reader, seqs)
        quoting = _quoting(reader, words, seqs)
        named = entries.identities(reader, quoting)
    forgotten = eraser.forget([*seqs, *quoting] if replies else seqs)
    with space.read() as reader:
        later = _given_meanwhile(reader, words, seqs, quoting)
        named += entries.identities(reader, later)
        noted = any(reply_sources.replies_to(reader, seqs))
    if later and replies:
        forgotten = _sum(forgotten, eraser.forget(later))
    if noted:
        with space.write() as writer:
            reply_sources.drop(writer, seqs)
    return replace(forgotten, replies=tuple(named))


def _words_shown(reader: SpaceReader, seqs: Sequence[int]) -> dict[int, Words]:
    """The words of those among entries that a model was shown when it gave a reply."""
    shown = [entry for entry, _ in reply_sources.replies_to(reader, seqs)]
    return {seq: _words(text) for seq, text in reply_sources.texts(reader, shown).items()}


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


def _given_meanwhile(
    reader: SpaceReader,
    words_shown: Mapping[int, Words],
    seqs: Sequence[int],
    quoting: Sequence[int],
) -> list[int]:
    """Replies that were given after the first look for them and before the entries went.

    An entry that no model had been shown until then has left no words: all replies to it count.
    """
    pairs = reply_sources.replies_to(reader, seqs)
    first = {reply for entry, reply in pairs if entry not in words_shown}
    dealt_with = {*seqs, *quoting}
    return sorted({*_quoting(reader, words_shown, dealt_with), *(first - dealt_with)})


def _words(text: str) -> Words:
    return frozenset(int(term) for term in terms(text)[:, 0])


def _sum(first: Forgotten, second: Forgotten) -> Forgotten:
    return Forgotten(
        entries=first.entries + second.entries,
        sources=first.sources + second.sources,
        views=Counter(first.views) + Counter(second.views),
        scrubbed=first.scrubbed and second.scrubbed,
    )
