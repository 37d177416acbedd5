"""One file's memories, one a space, and the threads that their calls run in."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

from treering.embed.contract import Embedder
from treering.embed.registry import open_embedder
from treering.errors import LLMNotConfigured
from treering.journal.contract import Database
from treering.journal.open import open_database
from treering.llm.contract import LLM
from treering.llm.settings import open_llm
from treering.memory import Memory, space_embedder
from treering.serve.settings import QUICK_THREADS, SLOW_THREADS, Settings

P = ParamSpec("P")
T = TypeVar("T")

MAX_OPEN = 64
"""Spaces kept in memory; those not used for longest are read from the file again when needed."""


class Spaces:
    """The memories of a file. They share its connections, the embedding model and the LLM."""

    def __init__(self, settings: Settings) -> None:
        self._embedder = settings.embedder
        self._llm = _opened_llm(settings.llm)
        self._closes_llm = self._llm is not settings.llm
        self.database: Database = open_database(settings.url)
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self._embedders: dict[str, Embedder] = {}
        self._opening = asyncio.Lock()
        self._quick = ThreadPoolExecutor(QUICK_THREADS, "treering")
        self._slow = ThreadPoolExecutor(SLOW_THREADS, "treering-slow")

    async def memory(self, space: str) -> Memory:
        """The memory of a space. Raises ModelMismatch, UnknownName, JournalError."""
        if space not in self._memories:
            async with self._opening:
                if space not in self._memories:
                    self._memories[space] = await self.run(self._open, space)
                    while len(self._memories) > MAX_OPEN:
                        self._memories.popitem(last=False)
        self._memories.move_to_end(space)
        return self._memories[space]

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that computes or writes in a worker thread."""
        return await self._in(self._quick, partial(work, *args, **kwargs))

    async def run_slow(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that waits for a language model, apart from those that do not."""
        return await self._in(self._slow, partial(work, *args, **kwargs))

    def probe(self) -> None:
        """Read from the file. Raises JournalError."""
        with self.database.read() as reader:
            reader.row("SELECT 1 FROM space LIMIT 1")

    async def _in(self, threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(threads, copy_context().run, work)

    def close(self) -> None:
        """Wait for calls that have begun, then close the models and the file."""
        for threads in (self._quick, self._slow):
            threads.shutdown(wait=True, cancel_futures=True)
        if self._llm is not None and self._closes_llm:
            self._llm.close()
        self.database.close()

    def _open(self, space: str) -> Memory:
        model = space_embedder(self.database, space, self._embedder, self._model)
        return Memory(self.database, space, model, self._llm)

    def _model(self, spec: str | Embedder) -> Embedder:
        """The embedder of a specification, opened once for all spaces."""
        if not isinstance(spec, str):
            return open_embedder(spec)
        if spec not in self._embedders:
            self._embedders[spec] = open_embedder(spec)
        return self._embedders[spec]


def _opened_llm(spec: str | LLM | None) -> LLM | None:
    """The language model, once for all spaces; None where none is configured."""
    try:
        return open_llm(spec)
    except LLMNotConfigured:
        if spec is not None:
            raise
        return None
