"""The content of a brief, read from the views of a space."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from treering.journal import entries
from treering.journal.entries import OWN_SOURCES
from treering.journal.space import Space
from treering.records import Filter
from treering.search.brief import BriefMaterial, Saying
from treering.search.marks import Marker, Quote
from treering.views.facts.change import HABIT
from treering.views.facts.view import Fact, FactView
from treering.views.memos.record import Memo
from treering.views.memos.view import MemoView

NEWEST = 3_000
"""Entries that are read: a brief must be there when a session begins."""

FACTS = 12
CHANGES = 5
MEMOS = 8


def brief_material(space: Space, marks: Marker, facts: FactView, memos: MemoView) -> BriefMaterial:
    """Facts that hold, memos, changes, and the newest entries."""
    with space.read() as reader:
        rows = entries.page(reader, reader.id, Filter(), limit=NEWEST, newest=True)[::-1]
        pinned = entries.by_seq(reader, entries.pinned_seqs(reader, reader.id))
        marked = marks(reader, [Quote.whole(seq, entry) for seq, entry in rows])
    holding = [
        entry
        for (_, entry), mark in zip(rows, marked, strict=True)
        if mark.superseded_by is None and not entry.source.startswith(OWN_SOURCES)
    ]
    listed = memos.list()
    latest = [memo for memo in reversed(listed) if memo.stated and not memo.pinned]
    stated = facts.all()
    return BriefMaterial(
        about=(*_facts(_with_subject(space, stated)), *map(_memo, latest[:MEMOS])),
        pinned=tuple(
            Saying(entry.text, (entry.id,), entry.source, entry.at) for entry in pinned.values()
        ),
        holds=tuple(_memo(memo) for memo in listed if memo.pinned),
        changed=_changes(stated),
        newest=tuple(holding),
    )


def _with_subject(space: Space, stated: Sequence[Fact]) -> list[Fact]:
    """Statements about a person or a thing, without those about a source that nobody speaks in.

    Where an entry lacks a speaker, facts have the source as their subject: "notes" has no locker.
    """
    doubtful = {fact.entry_id for fact in stated if _is_about_source(fact)}
    with space.read() as reader:
        said = entries.by_seq(reader, entries.seqs_of(reader, reader.id, doubtful)).values()
    silent = {entry.id for entry in said if not (entry.speaker or entry.role)}
    return [f for f in stated if f.entry_id not in silent or not _is_about_source(f)]


def _is_about_source(fact: Fact) -> bool:
    source = fact.source.casefold()
    return fact.subject == source or fact.subject.startswith(f"{source}'s ")


def _facts(stated: Sequence[Fact]) -> tuple[Saying, ...]:
    """The latest statement of each slot that holds.

    A sentence that is superseded in part is not quoted ("I live in Graz and I work as a nurse",
    after a move): its slot and value are written instead.
    """
    outdated = {(fact.entry_id, fact.text) for fact in stated if fact.superseded_by is not None}
    sayings: dict[tuple[str, str, str], Saying] = {}
    for fact in reversed(stated):
        if fact.superseded_by is None and fact.sense == "holds" and fact.attribute != HABIT:
            quoted = (fact.entry_id, fact.text) not in outdated
            text = fact.text if quoted else f"{fact.attribute}: {fact.value}"
            saying = Saying(f"{fact.subject}: {text}", (fact.entry_id,), fact.source, fact.at)
            sayings.setdefault((fact.subject, fact.attribute, fact.value.casefold()), saying)
    return tuple(islice(sayings.values(), FACTS))


def _changes(stated: Sequence[Fact]) -> tuple[Saying, ...]:
    """Superseded statements with the newer ones, the newest first."""
    changed = [
        Saying(
            f"{fact.text} - superseded: {fact.superseded_by.text}",
            (fact.superseded_by.entry_id, fact.entry_id),
            fact.source,
            fact.superseded_by.at,
        )
        for fact in reversed(stated)
        if fact.superseded_by is not None
    ]
    changed.sort(key=lambda saying: saying.at.timestamp() if saying.at else 0.0, reverse=True)
    return tuple(changed[:CHANGES])


def _memo(memo: Memo) -> Saying:
    return Saying(memo.option, memo.entry_ids, memo.source or "memo", memo.until)
