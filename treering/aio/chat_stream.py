"""A streamed chat reply, for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from treering.chat.answer import Answer
from treering.chat.stream import ChatStream


class AsyncChatStream(AsyncIterator[str]):
    """A ``ChatStream`` for asyncio: a worker thread waits for each piece.

    A cancelled wait, as by a time-out, loses no piece: the next one gets it.
    """

    def __init__(self, stream: ChatStream) -> None:
        self._stream = stream
        self._turn = asyncio.Lock()
        self._reading: asyncio.Task[str | None] | None = None
        self._is_closed = False

    async def __anext__(self) -> str:
        async with self._turn:  # of two waits each gets a piece of its own
            if self._reading is None:
                self._reading = asyncio.create_task(asyncio.to_thread(next, self._stream, None))
            try:
                piece = await asyncio.shield(self._reading)
            except Exception:
                self._reading = None
                raise
            self._reading = None
        if piece is None or self._is_closed:
            raise StopAsyncIteration
        return piece

    @property
    def answer(self) -> Answer | None:
        """The whole reply with its cost; None until it is complete and remembered."""
        return self._stream.answer

    async def close(self) -> None:
        """Stop the model, and drop the pieces that no call has returned."""
        self._is_closed = True
        await asyncio.to_thread(self._stream.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
