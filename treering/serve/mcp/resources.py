"""What a client can read without a tool: memos, the tree level by level, and entries.

A resource is a page of text: a tree of a hundred thousand leaves is opened node by node.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from mcp_types import Resource, ResourceTemplate

from treering.errors import UnknownName
from treering.memory import Memory
from treering.views.memos.record import Memo
from treering.views.tree.node import TreeNode

SHOWN: Final = 200
"""Memos, or children of one node, that are listed."""

TREE: Final = "treering://tree"
MEMOS: Final = "treering://memos"
BRIEF: Final = "treering://brief"

RESOURCES: Final = [
    Resource(uri=BRIEF, name="brief", description="What to know first.", mime_type="text/plain"),
    Resource(uri=TREE, name="tree", description="Summaries, the topmost.", mime_type="text/plain"),
    Resource(uri=MEMOS, name="memos", description="What was talked of.", mime_type="text/plain"),
]
TEMPLATES: Final = [
    ResourceTemplate(
        uri_template=f"{TREE}/{{node}}",
        name="tree node",
        description="A summary and what is below it.",
        mime_type="text/plain",
    ),
    ResourceTemplate(
        uri_template=f"{MEMOS}/{{id}}",
        name="memo",
        description="A topic, its summary and the lines it stands for.",
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
        match = re.fullmatch(pattern, uri)
        if match:
            return show(memory, *match.groups())
    templates = ", ".join(template.uri_template for template in TEMPLATES)
    raise UnknownName(f"no resource {uri!r:.200}; there are {BRIEF}, {TREE}, {MEMOS}, {templates}")


def _brief_of(memory: Memory) -> str:
    return memory.brief().text or "There is nothing to say of this memory yet."


def _tree(memory: Memory) -> str:
    return _nodes(memory.tree.roots()) or "The tree is empty."


def _node(memory: Memory, number: str) -> str:
    tree = memory.tree
    node = tree.node(int(number))
    if node.leaf:
        return f"{_origin(node)}\n{node.text}"
    above = "".join(
        f"above: #{parent.number} {_line(parent.text)}\n" for parent in tree.path(node.number)
    )
    return f"{above}#{node.number} {node.text}\n\n{_nodes(tree.children(node.number))}"


def _memos(memory: Memory) -> str:
    # The latest are what a conversation is most likely about.
    listed = [f"{memo.id} {_dated(memo)}" for memo in reversed(memory.memos.list())]
    return _some(listed) or "There is no memo yet."


def _memo(memory: Memory, memo_id: str) -> str:
    memo = memory.memos.get(memo_id)
    lines = (memory.get(entry_id) for entry_id in memo.entry_ids)
    dialogue = "\n".join(
        f"{line.speaker or line.role or line.source}: {line.text}" for line in lines
    )
    doubted = "".join(f"\nnot supported by its lines: {claim}" for claim in memo.unsupported)
    return f"{_dated(memo)}{doubted}\n\n{dialogue}"


def _entry(memory: Memory, entry_id: str) -> str:
    return memory.get(entry_id).text


def _nodes(nodes: list[TreeNode]) -> str:
    return _some([_brief(node) for node in nodes])


def _some(lines: list[str]) -> str:
    more = [f"… and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return "\n".join([*lines[:SHOWN], *more])


def _dated(memo: Memo) -> str:
    when = f" ({memo.until:%Y-%m-%d})" if memo.until else ""
    return f"{memo.topic}: {_line(memo.stated)}{when}"


def _brief(node: TreeNode) -> str:
    mark = "-" if node.leaf else f"[{node.leaves}]"
    return f"#{node.number} {mark} {_line(node.text)}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _origin(node: TreeNode) -> str:
    return f"#{node.number} {node.source}"


_ROUTES: Final[tuple[tuple[str, Callable[..., str]], ...]] = (
    (re.escape(BRIEF), _brief_of),
    (re.escape(TREE), _tree),
    (rf"{re.escape(TREE)}/(\d{{1,18}})", _node),
    (re.escape(MEMOS), _memos),
    (rf"{re.escape(MEMOS)}/([0-9A-Za-z_-]{{1,64}})", _memo),
    (r"treering://entry/([0-9A-Za-z_-]{1,64})", _entry),
)
