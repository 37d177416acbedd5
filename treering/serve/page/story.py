"""The page's compositions of views: an entry's story, and parts of the tree."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markdown_it import MarkdownIt

from treering.memory import Memory, memory_parts
from treering.records import Entry
from treering.views.facts.view import Fact
from treering.views.memos.record import Memo
from treering.views.tree.node import TreeNode
from treering.views.tree.shape import ROOT
from treering.views.tree.view import TreeView

MARKDOWN_CHARS: Final = 100_000
"""Longer texts stay as written: the parser takes a second for 300,000 characters."""

PLACING_S = 0.6
"""The time in which a request places texts before it answers."""

# A line end in a note is meant as one.
_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True})
_MARKDOWN.enable(["table", "strikethrough"])
_FORMAT: Final = re.compile(r"<(?!/?p>|br)")  # more than paragraphs of words


@dataclass(frozen=True, slots=True)
class LeafPlace:
    """A leaf of the tree with text of an entry, and the summaries above, top first."""

    leaf: TreeNode
    above: tuple[TreeBranch, ...]


@dataclass(frozen=True, slots=True)
class EntryStory:
    """An entry, its places in the tree, and its memos and facts.

    ``formatted`` is its text as HTML by its Markdown; None if it has none.
    """

    entry: Entry
    formatted: str | None
    places: tuple[LeafPlace, ...]
    memos: tuple[Memo, ...]
    facts: tuple[Fact, ...]


def format_markdown(text: str) -> str:
    """Return a text as HTML by its Markdown; its own markup stays text."""
    return _MARKDOWN.render(text) if len(text) <= MARKDOWN_CHARS else html.escape(text)


def story(memory: Memory, entry_id: str) -> EntryStory:
    """Return the story of an entry. Raise UnknownName."""
    entry = memory.get(entry_id)
    tree = memory_parts(memory).views.tree_so_far(0.0)  # without a wait for the tree to grow
    places = tuple(
        LeafPlace(leaf, label_nodes(tree, tree.path(leaf.number))) for leaf in tree.find(entry_id)
    )
    facts = tuple(fact for fact in memory.facts.all() if fact.entry_id == entry_id)
    memos = tuple(memo for memo in memory.memos.list() if entry_id in memo.entry_ids)
    formatted = None if entry.kind == "code" else format_markdown(entry.text)
    if formatted and not _FORMAT.search(formatted):
        formatted = None
    return EntryStory(entry, formatted, places, memos, facts)


@dataclass(frozen=True, slots=True)
class TreeBranch:
    """A node with its label: its text, or a typical text below it until it has one."""

    node: TreeNode
    label: str


@dataclass(frozen=True, slots=True)
class TreePart:
    """Some of the ``total`` nodes below one, from ``offset`` on.

    ``unplaced`` texts lack a place in the tree; the next request places more.
    """

    branches: tuple[TreeBranch, ...]
    offset: int
    total: int
    unplaced: int


def tree_part(
    memory: Memory, number: int = ROOT, offset: int = 0, limit: int = 100, place: bool = False
) -> TreePart:
    """Return nodes below a node; with ``place`` put more texts into the tree first.

    Raise UnknownName.
    """
    tree = memory_parts(memory).views.tree_so_far(PLACING_S if place else 0.0)
    nodes = tree.children(number)
    branches = label_nodes(tree, nodes[offset : offset + limit])
    waiting = 0 if tree._grower.settings().tree_settle == "each" else tree._grower.count_unplaced()
    return TreePart(branches, offset, len(nodes), waiting)


def label_nodes(tree: TreeView, nodes: Sequence[TreeNode]) -> tuple[TreeBranch, ...]:
    """Return nodes of a tree with their labels."""
    unnamed = [node.number for node in nodes if not node.leaf and not node.text]
    examples = tree._examples(unnamed) if unnamed else {}
    return tuple(TreeBranch(node, node.text or examples.get(node.number, "")) for node in nodes)
