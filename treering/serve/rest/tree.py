"""The tree of summaries: look at it, search it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Query
from pydantic import Field

from treering.serve.rest.router import router_of
from treering.serve.rest.wire import IN_QUERY, Body, body_of
from treering.serve.tenant import Asking, Tenant
from treering.views.tree.node import TreeNode
from treering.views.tree.search import TREE_ALPHA
from treering.views.tree.settings import Settings as TreeSettings
from treering.views.tree.view import TreeStats, TreeView

router = router_of("tree", "/v1/tree")

MAX_NODES = 1_000  # of one reply; a list that is longer comes in parts

Offset = Annotated[int, Query(ge=0)]
Limit = Annotated[int, Query(ge=1, le=MAX_NODES)]
Alpha = Annotated[float, Field(ge=0, le=10)]


@body_of(TreeView.search)
class TreeSearchRequest(Body):
    """A search among summaries and texts."""

    alpha: Alpha = TREE_ALPHA


@body_of(TreeView.draw)
class TreeDrawRequest(Body):
    """How to draw the tree, and which branch of it."""

    model_config = IN_QUERY


@body_of(TreeView.replant)
class TreeReplantRequest(Body):
    """By which settings the tree shall grow; those left out stay."""


@body_of(TreeView.settle)
class TreeSettleRequest(Body):
    """Whether the language model writes summaries again that were made without one."""


@router.get("")
async def roots(tenant: Asking, offset: Offset = 0, limit: Limit = MAX_NODES) -> list[TreeNode]:
    """The topmost nodes, in the order their first text arrived."""
    return await _some(tenant, lambda tree: tree.roots(), offset, limit)


@router.get("/stats")
async def stats(tenant: Asking) -> TreeStats:
    """Figures: nodes and tokens by depth, branching, cost."""
    return await tenant.call(lambda: tenant.memory.tree.stats())


@router.get("/settings")
async def settings(tenant: Asking) -> TreeSettings:
    """How the tree grows."""
    return await tenant.call(lambda: tenant.memory.tree.settings())


@router.get("/drawing")
async def draw(body: Annotated[TreeDrawRequest, Query()], tenant: Asking) -> str:
    """The tree, or a branch of it, as an outline, Graphviz, Mermaid, HTML page or JSON."""
    return await tenant.call(lambda: tenant.memory.tree.draw(**body.given()))


@router.post("/replant")
async def replant(body: TreeReplantRequest, tenant: Asking) -> TreeSettings:
    """Grow the whole tree anew by other settings; its summaries become pending work."""
    return await tenant.call_slow(lambda: tenant.memory.tree.replant(**body.given()))


@router.post("/settle")
async def settle(body: TreeSettleRequest, tenant: Asking) -> None:
    """Make all pending summaries of the tree; see also ``/v1/settle``, which does not wait."""
    await tenant.call_slow(lambda: tenant.memory.tree.settle(**body.given()))


@router.get("/nodes/{number}")
async def node(number: int, tenant: Asking) -> TreeNode:
    """One node."""
    return await tenant.call(lambda: tenant.memory.tree.node(number))


@router.get("/nodes/{number}/children")
async def children(
    number: int, tenant: Asking, offset: Offset = 0, limit: Limit = MAX_NODES
) -> list[TreeNode]:
    """The nodes below one, in order of arrival."""
    return await _some(tenant, lambda tree: tree.children(number), offset, limit)


@router.get("/nodes/{number}/leaves")
async def leaves(
    number: int, tenant: Asking, offset: Offset = 0, limit: Limit = MAX_NODES
) -> list[TreeNode]:
    """The original texts that a summary rests on."""
    return await _some(tenant, lambda tree: tree.leaves(number), offset, limit)


@router.get("/nodes/{number}/path")
async def path(number: int, tenant: Asking) -> list[TreeNode]:
    """The summaries above a node, top first."""
    return await tenant.call(lambda: tenant.memory.tree.path(number))


@router.get("/entries/{entry_id}")
async def find(entry_id: str, tenant: Asking) -> list[TreeNode]:
    """The leaves that an entry's text stands on."""
    return await tenant.call(lambda: tenant.memory.tree.find(entry_id))


@router.post("/search")
async def search(body: TreeSearchRequest, tenant: Asking) -> list[TreeNode]:
    """The summaries and texts that answer a query best, best first."""
    return await tenant.call(lambda: tenant.memory.tree.search(**body.given()))


async def _some(
    tenant: Tenant, choose: Callable[[TreeView], list[TreeNode]], offset: int, limit: int
) -> list[TreeNode]:
    """A part of the nodes that ``choose`` finds; the tree first takes in what is new."""
    nodes = await tenant.call(lambda: choose(tenant.memory.tree))
    return nodes[offset : offset + limit]
