"""AsyncFacts: FactView for asyncio. Written by tools/generate_async.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from treering.views.facts.view import Change, Fact, FactView, When


class AsyncFacts:
    """The methods of ``FactView``, each run in a worker thread, as is getting at the view."""

    def __init__(self, view: Callable[[], FactView]) -> None:
        self._view = view

    async def judge(self) -> int:
        """Let the language model judge what rules cannot; return how many messages were superseded.

        It judges new messages that speak of a change, each with its speaker's most similar earlier
        message. Before its first verdict, a model is asked eight pairs whose answer is known. An
        unreadable verdict supersedes nothing. Raises LLMReplyError if the model judges too few of
        the eight right, LLMNotConfigured and LLMUnavailable. The next call goes on from there. If
        another process lets a model judge, it is waited for, and what is left then is judged here.
        """
        return await asyncio.to_thread(lambda: self._view().judge())

    async def all(self, subject: str | None = None, as_of: When = None) -> list[Fact]:
        """Statements of slots like home or number, in the order they were said.

        A habit is listed only if it is superseded or ends. ``as_of`` gives what had been said by
        then, and what held.
        """
        return await asyncio.to_thread(lambda: self._view().all(subject, as_of))

    async def current(self, subject: str | None = None, as_of: When = None) -> list[Fact]:
        """The statements of ``all`` that are not superseded: each as it was last stated."""
        return await asyncio.to_thread(lambda: self._view().current(subject, as_of))

    async def changes(self, as_of: When = None) -> list[Change]:
        """The superseded statements, each with the newer one, in the order of the newer ones."""
        return await asyncio.to_thread(lambda: self._view().changes(as_of))
