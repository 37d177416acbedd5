"""The nodes and the figures of a tree as they are shown to users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from treering.journal import work
from treering.journal.contract import Reader
from treering.journal.space import SpaceReader
from treering.views.tree import store
from treering.views.tree.shape import Tree
from treering.views.tree.texts import leaf_texts

OUTLINE_CHARS: Final = 100
"""The room on a line of a wide terminal beside the branches."""


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A summary, or a leaf: an original text.

    ``number`` is the node's identity, ``depth`` is 1 below the root, ``leaves`` is how many texts
    it stands for. A summary has ``made_by`` (a model's name or ``extractive``; None while its text
    is still to be made) and ``pending`` when something below it is not in its text yet. A leaf has
    ``entry_id`` and ``source``, and ``repeats`` counts how many more times exactly its text was
    added; a round of a chat is of all its ``entry_ids``.
    """

    number: int
    text: str
    depth: int
    leaf: bool
    leaves: int
    made_by: str | None = None
    pending: bool = False
    entry_id: str | None = None
    entry_ids: tuple[str, ...] = ()
    source: str | None = None
    repeats: int = 0


def shown_nodes(reader: SpaceReader, tree: Tree, numbers: Iterable[int]) -> list[TreeNode]:
    """Nodes as they are shown, in the given order."""
    ordered = list(numbers)
    pending = set(work.targets(reader, reader.space, store.SUMMARIES, store.ALL))
    texts = leaf_texts(reader, [n for n in ordered if tree.is_leaf(n)])
    summaries = store.summaries(reader, [n for n in ordered if not tree.is_leaf(n)])
    nodes = []
    for number in ordered:
        depth, leaves = tree.depth(number), tree.leaves_below(number)
        if summary := summaries.get(number):
            waits = number in pending
            node = TreeNode(
                number, summary.text or "", depth, False, leaves, summary.made_by, waits
            )
        elif leaf := texts.get(number):
            node = TreeNode(
                number,
                leaf.text,
                depth,
                True,
                leaves,
                entry_id=leaf.entry_ids[0],
                entry_ids=leaf.entry_ids,
                source=leaf.source,
                repeats=leaf.repeats,
            )
        else:  # its text was erased
            node = TreeNode(number, "", depth, True, leaves)
        nodes.append(node)
    return nodes


def examples(reader: Reader, tree: Tree, numbers: Iterable[int]) -> dict[int, str]:
    """The beginning of the first text below each node, by the node's number."""
    leaf_of = {number: next(tree.leaves(number)) for number in numbers}
    texts = leaf_texts(reader, leaf_of.values())
    return {n: _one_line(texts[leaf].text) for n, leaf in leaf_of.items() if leaf in texts}


def outline(nodes: Sequence[TreeNode]) -> str:
    """Lines with branches; a summary has the number of leaves that it stands for.

    Each node comes before its children.
    """
    lines: list[str] = []
    open_depths: set[int] = set()  # at which another node follows
    for node in reversed(nodes):
        depth = node.depth - nodes[0].depth
        stem = "".join("│   " if above in open_depths else "    " for above in range(1, depth))
        branch = ("├── " if depth in open_depths else "└── ") if depth else ""
        leaves = "" if node.leaf else f"[{node.leaves}] "
        times = f" (×{node.repeats + 1})" if node.repeats else ""
        waiting = " (pending)" if node.pending else ""
        text = f"{leaves}{_one_line(node.text)}{times}{waiting}  #{node.number}"
        lines.append(stem + branch + text)
        open_depths = {above for above in open_depths if above < depth} | {depth}
    return "\n".join(reversed(lines))


def _one_line(text: str) -> str:
    """Control characters, which could act on a terminal, are shown as such."""
    line = " ".join(text.split())
    line = "".join(char if char.isprintable() else "�" for char in line)
    return line if len(line) <= OUTLINE_CHARS else line[: OUTLINE_CHARS - 1] + "…"


@dataclass(frozen=True, slots=True)
class TreeStats:
    """A tree in figures: its shape, its pending summaries, and the makers of its texts."""

    nodes: int = 0
    leaves: int = 0
    topics: int = 0
    max_depth: int = 0
    pending: int = 0
    made_by: dict[str, int] = field(default_factory=dict)
