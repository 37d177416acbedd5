"""A chat reply as it is written, for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from treering.chat.answer import Answer
from treering.chat.stream import ChatStream


class AsyncChatStream(AsyncIterator[str]):
    """A ``ChatStream`` for asyncio: each piece is waited for in a worker thread."""

    def __init__(self, stream: ChatStream) -> None:
        self._stream = stream

    async def __anext__(self) -> str:
        piece = await asyncio.to_thread(next, self._stream, None)
        if piece is None:
            raise StopAsyncIteration
        return piece

    @property
    def answer(self) -> Answer | None:
        """The whole reply with its cost; None until it is complete and remembered."""
        return self._stream.answer

    async def close(self) -> None:
        """Stop the model."""
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
