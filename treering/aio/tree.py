"""AsyncTree: TreeView for asyncio. Written by tools/generate_async.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from treering.records import Progress
from treering.search.rounds import ChatUnit
from treering.views.tree.node import TreeNode
from treering.views.tree.search import TREE_ALPHA, Method
from treering.views.tree.settings import Receiver, Route, Settings
from treering.views.tree.shape import ROOT
from treering.views.tree.threshold import Form
from treering.views.tree.view import Format, Quality, TreeStats, TreeView


class AsyncTree:
    """The methods of ``TreeView``, each run in a worker thread, as is getting at the view."""

    def __init__(self, view: Callable[[], TreeView]) -> None:
        self._view = view

    async def settle(self, progress: Progress | None = None, *, upgrade: bool = False) -> None:
        """Make all pending summaries, in parallel.

        The language model makes them if one is configured; else they are extractive. With
        ``upgrade`` the model also rewrites the extractive ones. Raises LLMError and
        EmbeddingError; summaries that failed stay queued. If another process makes summaries, it is
        waited for; what is left after a minute stays queued.
        """
        return await asyncio.to_thread(lambda: self._view().settle(progress, upgrade=upgrade))

    async def replant(
        self,
        *,
        base: float | None = None,
        rate: float | None = None,
        max_depth: int | None = None,
        form: Form | None = None,
        route: Route | None = None,
        receiver: Receiver | None = None,
        summary_tokens: int | None = None,
        deeper_tokens: int | None = None,
        chat_unit: ChatUnit | None = None,
        gap_hours: float | None = None,
    ) -> Settings:
        """Grow the whole tree again by other settings, which the space keeps.

        A setting that is None stays as it is. ``base``, ``rate``, ``max_depth`` and ``form`` are
        those of ``Threshold``: a lower base gives a deeper tree. ``route``, ``receiver``,
        ``summary_tokens``, ``deeper_tokens``, ``chat_unit`` and ``gap_hours`` are those of
        ``Settings``. All summaries become pending work. Raises InputError.
        """
        return await asyncio.to_thread(
            lambda: self._view().replant(
                base=base,
                rate=rate,
                max_depth=max_depth,
                form=form,
                route=route,
                receiver=receiver,
                summary_tokens=summary_tokens,
                deeper_tokens=deeper_tokens,
                chat_unit=chat_unit,
                gap_hours=gap_hours,
            )
        )

    async def settings(self) -> Settings:
        """How the tree grows."""
        return await asyncio.to_thread(lambda: self._view().settings())

    async def roots(self) -> list[TreeNode]:
        """The topmost nodes, in the order their first text arrived."""
        return await asyncio.to_thread(lambda: self._view().roots())

    async def children(self, number: int) -> list[TreeNode]:
        """The children of a node, in order of arrival. Raises UnknownName."""
        return await asyncio.to_thread(lambda: self._view().children(number))

    async def node(self, number: int) -> TreeNode:
        """One node. Raises UnknownName."""
        return await asyncio.to_thread(lambda: self._view().node(number))

    async def path(self, number: int) -> list[TreeNode]:
        """The summaries above a node, top first. Raises UnknownName."""
        return await asyncio.to_thread(lambda: self._view().path(number))

    async def leaves(self, number: int) -> list[TreeNode]:
        """The original texts below a summary. Raises UnknownName."""
        return await asyncio.to_thread(lambda: self._view().leaves(number))

    async def find(self, entry_id: str) -> list[TreeNode]:
        """The leaves that hold an entry's text, in its order. Raises UnknownName."""
        return await asyncio.to_thread(lambda: self._view().find(entry_id))

    async def stats(self) -> TreeStats:
        """Figures of the tree, without any model."""
        return await asyncio.to_thread(lambda: self._view().stats())

    async def quality(self) -> Quality:
        """Whether the hierarchy makes sense: revenue, OTD's, β, and the odd-one-out test."""
        return await asyncio.to_thread(lambda: self._view().quality())

    async def draw(
        self, form: Format = "outline", *, root: int = ROOT, title: str = "memory"
    ) -> str:
        """The tree, or a branch of it, as an outline, Graphviz, Mermaid, HTML page or JSON."""
        return await asyncio.to_thread(lambda: self._view().draw(form, root=root, title=title))

    async def search(
        self,
        query: str,
        *,
        k: int = 10,
        method: Method = "related",
        least: float | None = None,
        alpha: float = TREE_ALPHA,
    ) -> list[TreeNode]:
        """The nodes, summaries and leaves alike, that answer a query best, best first.

        ``related`` scores all nodes by words, meaning and relations; ``alpha`` weighs the relation
        of relatives in the tree. ``collapsed`` is the paper's: all nodes by cosine, without those
        below ``least``. ``traversal`` takes the k most similar nodes at every level among the
        children of the last k, so it returns up to k nodes per level.
        """
        return await asyncio.to_thread(
            lambda: self._view().search(query, k=k, method=method, least=least, alpha=alpha)
        )
