"""From fragments to exchanges: a message is shown with what it answers, and with its answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from treering.chat.policy import Exchange
from treering.journal import entries
from treering.journal.space import SpaceReader
from treering.records import Entry, Hit
from treering.search.marks import Mark, Marker, Quote

MAX_MESSAGES = 4  # of a round: the user's, the model's, and what tools said between


def exchanges(
    reader: SpaceReader, hits: Sequence[Hit], without: frozenset[str], marks: Marker
) -> list[Exchange]:
    """The exchanges that hits belong to, best first; messages in ``without`` are left out of them.

    A text has no exchanges, nor has a chat whose messages have no roles: there each hit stands for
    itself.
    """
    members: dict[str, Exchange] = {}
    by_key: dict[tuple[str, int], Exchange] = {}
    for hit in hits:
        before = members.get(hit.entry_id) if hit.role else None
        if before is None:
            before = Exchange(_messages(reader, hit, without, marks), 0.0)
            members |= dict.fromkeys(before.entries, before)
        # Scores below the mean must not pull down an exchange that another of its hits lifted.
        score = by_key[before.key].score if before.key in by_key else 0.0
        by_key[before.key] = replace(before, score=score + max(hit.score, 0.0))
    return _newer_first(sorted(by_key.values(), key=lambda exchange: -exchange.score))


def _messages(
    reader: SpaceReader, hit: Hit, without: frozenset[str], marks: Marker
) -> tuple[Hit, ...]:
    if not hit.role:
        return (hit,)
    seqs = entries.exchange(reader, reader.id, hit.source, hit.position, MAX_MESSAGES)
    quotes = [
        Quote.whole(seq, entry)
        for seq, entry in sorted(entries.by_seq(reader, seqs).items())
        if entry.id not in without
    ]
    whole = tuple(
        _whole(quote.entry, hit, mark)
        for quote, mark in zip(quotes, marks(reader, quotes), strict=True)
    )
    return whole if any(message.entry_id == hit.entry_id for message in whole) else (hit,)


def _whole(entry: Entry, hit: Hit, mark: Mark) -> Hit:
    """An entry of the round of a hit, as a hit."""
    return replace(
        hit,
        text=entry.text,
        entry_id=entry.id,
        position=entry.position,
        start=0,
        end=len(entry.text),
        at=entry.at,
        speaker=entry.speaker,
        role=entry.role,
        session=entry.session,
        metadata=entry.metadata,
        superseded_by=mark.superseded_by,
        stale=mark.stale,
    )


def _newer_first(ranked: Sequence[Exchange]) -> list[Exchange]:
    """Each exchange behind those that supersede its statements; these score at least as much."""
    home: Mapping[str, Exchange] = {
        entry: exchange for exchange in ranked for entry in exchange.entries
    }
    ordered: dict[tuple[str, int], Exchange] = {}
    for exchange in ranked:
        for newer in _newer(exchange):
            if newer in home:
                first = home[newer]
                ordered.setdefault(
                    first.key, replace(first, score=max(first.score, exchange.score))
                )
        ordered.setdefault(exchange.key, exchange)
    return list(ordered.values())


def _newer(exchange: Exchange) -> Iterable[str]:
    return (hit.superseded_by.entry_id for hit in exchange.hits if hit.superseded_by)
