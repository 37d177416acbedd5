"""The tree as the page shows it: usable while texts are placed and before summaries are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treering.memory import Memory, tree_so_far
from treering.views.tree.node import TreeNode
from treering.views.tree.shape import ROOT
from treering.views.tree.view import TreeView

PLACING_S = 0.6
"""How long a request places texts before it answers with what there is."""


@dataclass(frozen=True, slots=True)
class TreeBranch:
    """A node, and what to call it: its text, or a typical text below it until it has one."""

    node: TreeNode
    label: str


@dataclass(frozen=True, slots=True)
class TreePart:
    """Some nodes below one, the first of which is number ``offset`` of ``total``.

    ``unplaced`` texts have no place in the tree yet; asking again places more.
    """

    branches: tuple[TreeBranch, ...]
    offset: int
    total: int
    unplaced: int


def part(
    memory: Memory, number: int = ROOT, offset: int = 0, limit: int = 100, place: bool = False
) -> TreePart:
    """Nodes below a node; with ``place`` some more texts get their place first.

    Raises UnknownName.
    """
    tree = tree_so_far(memory, PLACING_S if place else 0.0)
    nodes = tree.children(number)
    branches = named(tree, nodes[offset : offset + limit])
    return TreePart(branches, offset, len(nodes), tree._unplaced())


def named(tree: TreeView, nodes: Sequence[TreeNode]) -> tuple[TreeBranch, ...]:
    """Nodes of a tree with what to call them."""
    unnamed = [node.number for node in nodes if not node.leaf and not node.text]
    examples = tree._examples(unnamed) if unnamed else {}
    return tuple(TreeBranch(node, node.text or examples.get(node.number, "")) for node in nodes)
