"""A text that stands for a summary until that is written: the most typical of those below it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from treering.journal.contract import Reader
from treering.split.text import sentences
from treering.views.tree.shape import Tree
from treering.views.tree.texts import leaf_texts

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
