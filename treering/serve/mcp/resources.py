"""What a client can read without a tool: the tree, level by level, and entries as they were added.

A resource is a page of text: a tree of a hundred thousand leaves is opened node by node.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from mcp_types import Resource, ResourceTemplate

from treering.errors import UnknownName
from treering.memory import Memory
from treering.tree.node import TreeNode

SHOWN: Final = 200
"""Children of one node that are listed."""

TREE: Final = "treering://tree"

RESOURCES: Final = [
    Resource(uri=TREE, name="tree", description="Topics of the memory.", mime_type="text/plain"),
]
TEMPLATES: Final = [
    ResourceTemplate(
        uri_template=f"{TREE}/{{node}}",
        name="tree node",
        description="A summary and what is below it.",
        mime_type="text/plain",
    ),
    ResourceTemplate(
        uri_template="treering://entry/{id}",
        name="entry",
        description="A text as it was remembered.",
        mime_type="text/plain",
    ),
]


def read(memory: Memory, uri: str) -> str:
    """The text of a resource. Raises UnknownName."""
    for pattern, show in _ROUTES:
        found = re.fullmatch(pattern, uri)
        if found:
            return show(memory, *found.groups())
    templates = ", ".join(one.uri_template for one in TEMPLATES)
    raise UnknownName(f"no resource {uri!r:.200}; there are {TREE}, {templates}")


def _tree(memory: Memory) -> str:
    return _nodes(memory.tree.roots()) or "The tree is empty."


def _node(memory: Memory, number: str) -> str:
    tree = memory.tree
    node = tree.node(int(number))
    if node.leaf:
        return f"{_origin(node)}\n{node.text}"
    above = "".join(f"above: #{one.number} {_line(one.text)}\n" for one in tree.path(node.number))
    return f"{above}#{node.number} {node.text}\n\n{_nodes(tree.children(node.number))}"


def _entry(memory: Memory, entry_id: str) -> str:
    return memory.get(entry_id).text


def _nodes(nodes: list[TreeNode]) -> str:
    lines = [_brief(node) for node in nodes[:SHOWN]]
    if len(nodes) > SHOWN:
        lines.append(f"… and {len(nodes) - SHOWN} more")
    return "\n".join(lines)


def _brief(node: TreeNode) -> str:
    mark = "-" if node.leaf else f"[{node.leaves}]"
    return f"#{node.number} {mark} {_line(node.text)}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _origin(node: TreeNode) -> str:
    return f"#{node.number} {node.source}"


_ROUTES: Final[tuple[tuple[str, Callable[..., str]], ...]] = (
    (re.escape(TREE), _tree),
    (rf"{re.escape(TREE)}/(\d{{1,18}})", _node),
    (r"treering://entry/([0-9A-Za-z_-]{1,64})", _entry),
)
