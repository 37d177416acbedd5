"""AsyncMemory and its views. tools/generate_async.py writes their types into memory.pyi."""

from __future__ import annotations

from functools import wraps
from typing import Any, Self

from treering.aio.proxy import AsyncProxy, close_if_cancelled
from treering.memory import Memory
from treering.views.code.memory import CodeMemory
from treering.views.facts.view import FactView
from treering.views.memos.view import MemoView
from treering.views.tree.view import TreeView


class AsyncMemory(AsyncProxy, source=Memory):
    """Memory for asyncio: the same methods, each run in a worker thread.

    Open one with ``await AsyncMemory.open(...)``. Calls may be awaited side by side. A cancelled
    call is not awaited any more but runs to its end, so what it adds is added as a whole.
    ``progress`` and other callbacks are called in the worker thread. So it is with the views:
    ``await memory.tree.search(...)``.
    """

    def __init__(self, memory: Memory) -> None:
        super().__init__(lambda: memory)

    @classmethod
    @wraps(Memory.open.__func__)  # type: ignore[attr-defined]  # a class method
    async def open(cls, *args: Any, **options: Any) -> Self:  # noqa: D102  # that of Memory
        return cls(await close_if_cancelled(lambda: Memory.open(*args, **options)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()  # type: ignore[attr-defined]  # that of Memory


class AsyncTree(AsyncProxy, source=TreeView):
    """The methods of ``TreeView``, each run in a worker thread."""


class AsyncMemos(AsyncProxy, source=MemoView):
    """The methods of ``MemoView``, each run in a worker thread."""


class AsyncFacts(AsyncProxy, source=FactView):
    """The methods of ``FactView``, each run in a worker thread."""


class AsyncCode(AsyncProxy, source=CodeMemory):
    """The methods of ``CodeMemory``, each run in a worker thread."""
