"""AsyncFacts: FactView for asyncio. Written by tools/generate_async.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from treering.views.facts.view import Change, Fact, FactView


class AsyncFacts:
    """The methods of ``FactView``, each run in a worker thread, as is getting at the view."""

    def __init__(self, view: Callable[[], FactView]) -> None:
        self._view = view

    async def judge(self) -> int:
        """Let the language model judge what rules cannot: new messages that speak of a change,
        each with what its speaker said most like it before. Returns how many were superseded.

        Before its first verdict a model is asked eight pairs whose answer is known. A verdict that
        cannot be read counts as none. Raises LLMReplyError if the model tells too few of these
        eight right, LLMNotConfigured and LLMUnavailable; what was not judged by then is judged the
        next time.
        """
        return await asyncio.to_thread(lambda: self._view().judge())

    async def all(self, subject: str | None = None) -> list[Fact]:
        """Statements with one value at a time (homes, numbers, …) in the order they were said.

        Habits are found too, but only listed once something has superseded them.
        """
        return await asyncio.to_thread(lambda: self._view().all(subject))

    async def current(self, subject: str | None = None) -> list[Fact]:
        """The statements that nothing has superseded."""
        return await asyncio.to_thread(lambda: self._view().current(subject))

    async def changes(self) -> list[Change]:
        """What was superseded by what, in the order of the newer statements."""
        return await asyncio.to_thread(lambda: self._view().changes())
