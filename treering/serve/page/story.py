"""An entry's story, and what forgetting would touch: composed of what the views know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from treering.errors import InputError, UnknownName
from treering.hints import Hint
from treering.ingest.where import Where, to_filter
from treering.memory import Memory, tree_so_far
from treering.records import Entry, Filter
from treering.serve.page.branches import TreeBranch, named
from treering.serve.page.markdown import MarkdownNode, formatted
from treering.views.facts.view import Fact
from treering.views.memos.record import Memo
from treering.views.tree.node import TreeNode
from treering.views.tree.view import TreeView

SHOWN = 20
"""Entries, summaries and memos that a preview names; counts tell the rest."""

FOLLOWED = 500
"""Entries whose traces in the tree a preview follows: about a second of it."""


@dataclass(frozen=True, slots=True)
class LeafPlace:
    """A leaf of the tree that an entry's text stands on, and the summaries above, top first."""

    leaf: TreeNode
    above: tuple[TreeBranch, ...]


@dataclass(frozen=True, slots=True)
class EntryStory:
    """An entry, where it went and what was derived from it.

    ``formatted`` is its text as Markdown; None if it is plain.
    """

    entry: Entry
    formatted: tuple[MarkdownNode, ...] | None
    places: tuple[LeafPlace, ...]
    memos: tuple[Memo, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class ForgetPreview:
    """What ``forget`` would touch: counts, and the first of each by name.

    ``rewritten`` summaries of the tree would be made anew and ``resting`` memos checked again. With
    ``partial``, there are more leaves and summaries than were looked at.
    """

    count: int
    sources: tuple[str, ...]
    entries: tuple[Entry, ...]
    leaves: int
    rewritten: int
    summaries: tuple[TreeNode, ...]
    resting: int
    memos: tuple[Memo, ...]
    partial: bool


def story(memory: Memory, entry_id: str) -> EntryStory:
    """Raises UnknownName."""
    entry = memory.get(entry_id)
    tree = tree_so_far(memory, 0.0)  # who looks at an entry does not wait for a tree to grow
    places = tuple(_place(tree, leaf) for leaf in tree.find(entry_id))
    facts = tuple(fact for fact in memory.facts.all() if fact.entry_id == entry_id)
    text = None if entry.kind == "code" else formatted(entry.text)
    return EntryStory(entry, text, places, _memos(memory, [entry_id]), facts)


def _place(tree: TreeView, leaf: TreeNode) -> LeafPlace:
    return LeafPlace(leaf, named(tree, tree.path(leaf.number)))


def preview(memory: Memory, ids: Sequence[str], where: Where) -> ForgetPreview:
    """Raises UnknownName when nothing matches, InputError without any condition."""
    if not ids and to_filter(where) == Filter():
        raise InputError("no entries are chosen to forget", hint=Hint.CHOOSE_ENTRIES)
    doomed = list(_doomed(memory, ids, where))
    if not doomed:
        raise UnknownName("nothing to forget: no entry matches")
    followed = [entry.id for entry in doomed[:FOLLOWED]]
    tree = tree_so_far(memory, 0.0)
    leaves = {leaf.number: leaf for entry_id in followed for leaf in tree.find(entry_id)}
    above = {node.number: node for leaf in leaves for node in tree.path(leaf)}
    memos = _memos(memory, [entry.id for entry in doomed])
    return ForgetPreview(
        count=len(doomed),
        sources=tuple(dict.fromkeys(entry.source for entry in doomed)),
        entries=tuple(doomed[:SHOWN]),
        leaves=len(leaves),
        rewritten=len(above),
        summaries=tuple(above[number] for number in sorted(above)[:SHOWN]),
        resting=len(memos),
        memos=memos[:SHOWN],
        partial=len(doomed) > FOLLOWED,
    )


def _doomed(memory: Memory, ids: Sequence[str], where: Where) -> Iterable[Entry]:
    if to_filter(where) == Filter():
        return [memory.get(entry_id) for entry_id in dict.fromkeys(ids)]
    chosen = set(ids)
    return (entry for entry in memory.entries(**where) if not chosen or entry.id in chosen)


def _memos(memory: Memory, ids: Sequence[str]) -> tuple[Memo, ...]:
    entry_ids = set(ids)
    return tuple(memo for memo in memory.memos.list() if entry_ids.intersection(memo.entry_ids))
