"""What a brief is made of, read from the views of a space."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from treering.journal import entries, ledger
from treering.journal.entries import OWN_SOURCES
from treering.journal.space import Space
from treering.search.brief import BriefMaterial, Saying
from treering.search.marks import Marker, Quote
from treering.views.facts.form import DOES
from treering.views.facts.view import Fact, FactView
from treering.views.memos.record import Memo
from treering.views.memos.view import MemoView
from treering.views.tree.view import TreeView

NEWEST = 3_000
"""Entries that are read for what they say. A brief must be there when a session begins; what was
said before is in facts, memos and topics, and search finds it."""

TREE_ENTRIES = 20_000
"""Of a larger space the tree is not opened: that would take longer than all the rest."""

FACTS = 12
CHANGES = 5
TOPICS = 6
MEMOS = 8


def material(
    space: Space, marks: Marker, facts: FactView, memos: MemoView, tree: TreeView
) -> BriefMaterial:
    """Facts that hold, topics, pinned memos, what changed, and the newest entries."""
    with space.read() as reader:
        rows = entries.newest(reader, reader.id, NEWEST)
        pinned = entries.by_seq(reader, entries.pinned(reader, reader.id))
        marked = marks(reader, [Quote.whole(seq, entry) for seq, entry in rows])
        size = ledger.counts(reader)["entry"]
    holding = [
        entry
        for (_, entry), mark in zip(rows, marked, strict=True)
        if mark.superseded_by is None and not entry.source.startswith(OWN_SOURCES)
    ]
    listed = memos.list()
    topics = _topics(listed) or (_tree_topics(tree) if size <= TREE_ENTRIES else ())
    stated = facts.all()
    return BriefMaterial(
        about=(*_facts(_of_somebody(space, stated)), *topics),
        pinned=tuple(
            Saying(entry.text, (entry.id,), entry.source, entry.at) for entry in pinned.values()
        ),
        holds=tuple(_memo(memo) for memo in listed if memo.pinned),
        changed=_changes(stated),
        newest=tuple(holding),
    )


def _of_somebody(space: Space, stated: Sequence[Fact]) -> list[Fact]:
    """Statements of a person or a thing.

    Where nobody is said to speak, the source stands for the speaker: "notes" has no locker.
    """
    doubtful = {fact.entry_id for fact in stated if _is_called_as_its_source(fact)}
    with space.read() as reader:
        seqs = entries.seqs_of(reader, reader.id, doubtful) if doubtful else []
        said = entries.by_seq(reader, seqs).values()
    nobodys = {entry.id for entry in said if not (entry.speaker or entry.role)}
    return [
        fact
        for fact in stated
        if fact.entry_id not in nobodys or not _is_called_as_its_source(fact)
    ]


def _is_called_as_its_source(fact: Fact) -> bool:
    source = fact.source.casefold()
    return fact.subject == source or fact.subject.startswith(f"{source}'s ")


def _facts(stated: Sequence[Fact]) -> tuple[Saying, ...]:
    """What was stated last and nothing has superseded, each once.

    A sentence that also says something superseded is not quoted: what still holds of it stands
    for it ("I live in Graz and I work as a nurse", after a move).
    """
    outdated = {(fact.entry_id, fact.text) for fact in stated if fact.superseded_by is not None}
    sayings: dict[tuple[str, str], Saying] = {}
    for fact in reversed(stated):
        if fact.superseded_by is None and not fact.ends and not fact.slot.startswith(DOES):
            quoted = (fact.entry_id, fact.text) not in outdated
            text = fact.text if quoted else f"{fact.slot}: {fact.value}"
            saying = Saying(f"{fact.subject}: {text}", (fact.entry_id,), fact.source, fact.at)
            sayings.setdefault((fact.subject, fact.slot), saying)
    return tuple(islice(sayings.values(), FACTS))


def _changes(stated: Sequence[Fact]) -> tuple[Saying, ...]:
    """What newer statements superseded, the newest first."""
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


def _topics(memos: Sequence[Memo]) -> tuple[Saying, ...]:
    """What was talked of, the latest first, in the words that its lines support."""
    latest = [memo for memo in reversed(memos) if memo.stated and not memo.pinned]
    return tuple(_memo(memo) for memo in latest[:MEMOS])


def _memo(memo: Memo) -> Saying:
    return Saying(memo.option, memo.entry_ids, memo.source or "memo", memo.until)


def _tree_topics(tree: TreeView) -> tuple[Saying, ...]:
    """The largest topics of a tree that has grown already; nobody waits for one that has not."""
    roots = [node for node in tree.roots() if not node.leaf and node.text]
    roots.sort(key=lambda node: node.leaves, reverse=True)
    return tuple(
        Saying(f"{node.text} ({node.leaves} texts)", (), f"treering://tree/{node.number}")
        for node in roots[:TOPICS]
    )
