"""The page and its files at ``/``, and the routes under ``/v1/page`` that only it needs."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from markdown_it import MarkdownIt
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treering.memory import Memory, memory_parts
from treering.records import Entry
from treering.serve.rest.requests import Body
from treering.serve.rest.routes import Offset, new_router
from treering.serve.spaces import Asking
from treering.text import check_text
from treering.views.facts.view import Fact
from treering.views.memos.record import Memo
from treering.views.tree.node import TreeNode
from treering.views.tree.shape import ROOT
from treering.views.tree.view import TreeView

router = new_router("page", "/v1/page")

NODES_SHOWN: Final = 100

HEADERS: Final = {
    # No foreign or inline content, and no frame around the page.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


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


@router.get("/entries/{entry_id}/story")
async def entry_story(entry_id: str, tenant: Asking) -> EntryStory:
    """An entry, its places in the tree, and its memos and facts."""
    return await tenant.run("read", story, tenant.memory, entry_id)


@router.get("/tree")
async def tree(
    tenant: Asking, below: int = ROOT, offset: Offset = 0, place: bool = False
) -> TreePart:
    """The nodes below one, by default the topmost; ``place`` adds more texts to the tree first."""
    return await tenant.run("read", tree_part, tenant.memory, below, offset, NODES_SHOWN, place)


class MarkdownRequest(Body):
    """A text in Markdown, such as an answer."""

    text: str


@router.post("/markdown")
async def markdown(body: MarkdownRequest, tenant: Asking) -> str:
    """A text in Markdown as HTML; its own markup stays text."""
    return await tenant.run("read", format_markdown, check_text(body.text, "the text"))


def files() -> list[Route]:
    """Return the routes of the page's files, which hold no data of a memory."""
    folder = resources.files("treering.serve.page").joinpath("static")
    routes = []
    for file in folder.iterdir():
        ending = file.name.rpartition(".")[2]
        at = "/" if file.name == "index.html" else f"/page/{file.name}"
        routes.append(_file_route(at, file.read_bytes(), _TYPES[ending]))
    return routes


def _file_route(path: str, content: bytes, kind: str) -> Route:
    """Return a route that answers with a file, which stays in main memory."""
    media_type = f"{kind}; charset=utf-8"

    async def answer(_: Request) -> Response:
        return Response(content, headers=HEADERS, media_type=media_type)

    return Route(path, answer, methods=["GET"], include_in_schema=False)
