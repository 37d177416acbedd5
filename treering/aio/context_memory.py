"""AsyncContextMemory: ContextMemory for asyncio. Written by tools/generate_async.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from treering.views.code.index.blocks import CodeBlock
from treering.views.code.write.context_memory import ContextMemory, Judgement


class AsyncContextMemory:
    """The methods of ``ContextMemory``, each run in a worker thread, as is getting at the view."""

    def __init__(self, view: Callable[[], ContextMemory]) -> None:
        self._view = view

    @property
    def blocks(self) -> tuple[CodeBlock, ...]:
        """What is held, in the order it came."""
        return self._view().blocks

    async def begin(self, instruction: str) -> Judgement:
        """Start a round: judge, and merge in what ADD retrieves (eq. 3, 4).

        Raises InputError for an empty instruction, and what the judge raises; the memory is then as
        it was.
        """
        return await asyncio.to_thread(lambda: self._view().begin(instruction))

    async def end(self, code: str, language: str | None) -> None:
        """End a round: keep the blocks whose APIs the generated code calls (eq. 2, 5)."""
        return await asyncio.to_thread(lambda: self._view().end(code, language))
