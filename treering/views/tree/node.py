"""The nodes of the tree as they are shown to users."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from treering.journal import work
from treering.journal.contract import Reader
from treering.journal.space import SpaceReader
from treering.records import Why
from treering.split.text import sentences
from treering.views.tree import store
from treering.views.tree.settle import ALL
from treering.views.tree.shape import Tree
from treering.views.tree.texts import leaf_texts


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A summary, or a leaf: an original text.

    ``number`` is the node's identity, ``depth`` is 1 below the root, ``leaves`` is how many texts
    it stands for. A summary has ``made_by`` (a model's name or ``extractive``; None while its text
    is still to be made) and ``pending`` when something below it is not in its text yet. A leaf has
    ``entry_id`` and ``source``, and ``repeats`` counts how many more times exactly its text was
    added; a round of a chat is of all its ``entry_ids``. ``score`` and ``why`` are set by a search.
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
    score: float | None = None
    why: Why | None = None


def shown_nodes(
    reader: SpaceReader, space: int, tree: Tree, numbers: Iterable[int]
) -> list[TreeNode]:
    """Nodes as they are shown, in the given order."""
    ordered = list(numbers)
    pending = set(work.queued(reader, space, store.SUMMARIES, ALL))
    texts = leaf_texts(reader, space, [n for n in ordered if tree.is_leaf(n)])
    summaries = store.summaries(reader, space, [n for n in ordered if not tree.is_leaf(n)])
    nodes = []
    for number in ordered:
        depth, leaves = tree.depth(number), tree.leaves_below(number)
        if number in summaries:
            summary = summaries[number]
            waits = number in pending
            text = summary.text or ""
            node = TreeNode(number, text, depth, False, leaves, summary.made_by, waits)
        else:
            leaf = texts.get(number)
            node = TreeNode(number, leaf.text if leaf else "", depth, True, leaves)
            if leaf:
                node = replace(
                    node,
                    entry_id=leaf.entry_ids[0],
                    entry_ids=leaf.entry_ids,
                    source=leaf.source,
                    repeats=leaf.repeats,
                )
        nodes.append(node)
    return nodes


LOOKED_AT = 64
"""Leaves below a node, spread evenly, of which the most typical is taken."""

MAX_CHARS = 160


def examples(reader: Reader, space: int, tree: Tree, numbers: Iterable[int]) -> dict[int, str]:
    """The beginning of a typical text below each node, by the node's number."""
    leaf_of = {number: _central_leaf(tree, number) for number in numbers}
    texts = leaf_texts(reader, space, leaf_of.values())
    return {
        number: _beginning(texts[leaf].text) for number, leaf in leaf_of.items() if leaf in texts
    }


def _central_leaf(tree: Tree, number: int) -> int:
    """The leaf that is most similar to all below the node together, of those looked at."""
    leaves = list(tree.leaves(number))
    chosen = leaves[:: -(-len(leaves) // LOOKED_AT)]
    center = tree.total(number).astype(np.float64)
    return max(chosen, key=lambda leaf: float(tree.vector(leaf) @ center))


def _beginning(text: str) -> str:
    first = next(iter(sentences(text)), text)
    return first if len(first) <= MAX_CHARS else f"{first[: MAX_CHARS - 1]}…"
