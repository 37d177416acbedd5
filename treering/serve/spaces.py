"""One file's memories, one a space, and the threads that their calls run in."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from pydantic_core import to_json

from treering.embed.contract import Embedder
from treering.embed.registry import open_embedder
from treering.errors import LLMNotConfigured
from treering.journal import entries, ledger
from treering.journal.contract import Database
from treering.journal.open import open_database
from treering.llm.contract import LLM
from treering.llm.settings import open_llm
from treering.memory import Memory
from treering.recall.search import check_queries
from treering.records import Hit, Spent
from treering.serve.batch import Batcher
from treering.serve.metrics import Metrics
from treering.serve.settings import READ_THREADS, WAIT_THREADS, WRITE_THREADS, Settings
from treering.serve.traces import Traces
from treering.views import space_embedder

P = ParamSpec("P")
T = TypeVar("T")

MAX_BATCH = 32
"""Searches of one pass: their scores of 100,000 fragments take 13 MB a term."""

SEARCHES_AT_ONCE = 2
"""One pass reads its hits while the next one computes."""

Options = Mapping[str, Any]
"""How to search, as ``Memory.search`` takes it."""

MAX_OPEN = 64
"""Spaces kept in memory; those not used for longest are read from the file again when needed."""


class Spaces:
    """The memories of a file. They share its connections, the embedding model and the LLM."""

    def __init__(self, settings: Settings, traces: Traces, metrics: Metrics) -> None:
        self._traces = traces
        self._embedder = settings.embedder
        self._llm = _opened_llm(settings.llm)
        self._closes_llm = self._llm is not settings.llm
        self.database: Database = open_database(settings.url)
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self._embedders: dict[str, Embedder] = {}
        self._opening = asyncio.Lock()
        self._searches = Batcher[str, list[Hit]](
            MAX_BATCH, SEARCHES_AT_ONCE, metrics.batches.observe
        )
        self._read = ThreadPoolExecutor(READ_THREADS, "treering-read")
        self._write = ThreadPoolExecutor(WRITE_THREADS, "treering-write")
        self._wait = ThreadPoolExecutor(WAIT_THREADS, "treering-wait")

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

    async def search(self, memory: Memory, query: str, options: Options) -> list[Hit]:
        """Search together with whoever searches a space in the same way at this moment.

        Raises what ``Memory.search`` raises.
        """
        check_queries([query])  # alone: it would fail for all of the batch
        same = (memory, to_json(options))

        async def work(queries: Sequence[str]) -> Sequence[list[Hit]]:
            return await self.run(memory.search_many, queries, **options)

        return await self._searches.submit(same, query, work)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that reads and computes."""
        return await self._in(self._read, partial(work, *args, **kwargs))

    async def run_write(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that writes: writers wait for each other, searches do not wait for them."""
        return await self._in(self._write, partial(work, *args, **kwargs))

    async def run_slow(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that waits for a language model or goes over everything."""
        return await self._in(self._wait, partial(work, *args, **kwargs))

    def spend(self, space: str, cost: Spent) -> None:
        """Add to the ledger what was spent on a space's behalf."""
        with self.database.write() as writer:
            ledger.spend(writer, entries.space_id(writer, space), cost)

    def probe(self) -> None:
        """Read from the file. Raises JournalError."""
        with self.database.read() as reader:
            reader.row("SELECT 1 FROM space LIMIT 1")

    async def _in(self, threads: ThreadPoolExecutor, work: partial[T]) -> T:
        with self._traces.span(getattr(work.func, "__qualname__", type(work.func).__name__)):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(threads, copy_context().run, work)

    def close(self) -> None:
        """Wait for calls that have begun, then close the models and the file."""
        for threads in (self._read, self._write, self._wait):
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
