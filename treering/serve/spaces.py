"""The open spaces of one file: each a tenant with its memory and its share of the threads."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, ParamSpec, TypeVar

from fastapi import Depends
from starlette.requests import HTTPConnection

from treering.chat.conversation import Conversations
from treering.corrections import takes_only_proposals
from treering.embed.contract import Embedder
from treering.embed.registry import open_embedder
from treering.errors import AccessDenied, JournalError, LLMNotConfigured
from treering.journal import claims, ledger, storage
from treering.journal.contract import Database, Reader
from treering.journal.fields import required_name
from treering.journal.open import open_database
from treering.journal.space import Space, begin
from treering.llm.contract import LLM
from treering.llm.settings import NONE, open_llm
from treering.memory import Memory, memory_parts
from treering.records import Hit, Spent
from treering.search.searcher import check_queries
from treering.serve import keys
from treering.serve.access import caller_of
from treering.serve.metrics import Metrics
from treering.serve.roles import ADD, FULL, READ, Roles
from treering.serve.settings import ServerSettings
from treering.serve.threads import SHARE, THREADS, Batcher, Kind, Threads, start_task
from treering.views.erase import retry
from treering.views.fragments.build import space_embedder
from treering.views.registry import Views

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger("treering.serve")

MAX_OPEN = 64
"""Open spaces; the one unused for longest is closed first, and opened again when needed."""

SCRUB_PAUSE_S = 10.0
"""The time between two attempts to scrub text from the file that was erased beside a reader."""


def today() -> int:
    """Return the day of UTC, by number."""
    return datetime.now(UTC).toordinal()


MAX_BATCH = 16
"""Searches whose queries are embedded together. Twice as many gain little."""


class Tenant:
    """A space, its memory, and its share of the threads."""

    def __init__(
        self,
        space: str,
        memory: Memory,
        database: Database,
        threads: Threads,
        observe: Callable[[int], None],
    ) -> None:
        self.space = space
        self.memory = memory
        self.database = database
        self._threads = threads
        self._turns = {kind: asyncio.Semaphore(count // SHARE) for kind, count in THREADS.items()}
        self._searches = Batcher[str, list[Hit]](MAX_BATCH, THREADS["read"] // SHARE, observe)

    async def search(self, query: str, **options: Any) -> list[Hit]:
        """Search together with the other searches of the moment that have the same options.

        Raise the errors of ``Memory.search``.
        """
        check_queries([query])  # alone: a bad query would fail the whole batch

        async def work(queries: Sequence[str]) -> Sequence[list[Hit]]:
            return await self.run("read", self.memory.search_many, queries, **options)

        return await self._searches.submit(json.dumps(options), query, work)

    async def run(
        self, kind: Kind, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a call in a thread of its kind, in the turn of the space."""
        async with self._turns[kind]:
            return await self._threads.run(kind, partial(work, *args, **kwargs))

    def conversations(self) -> Conversations:
        """Return the conversations of the space."""
        space, views, intake, account, beside = memory_parts(self.memory)
        return Conversations(space, account, views, intake, beside)

    def spend(self, cost: Spent) -> None:
        """Add a cost to the ledger of the space."""
        with Space(self.database, self.space).write() as writer:
            ledger.spend(writer, cost)


class Spaces:
    """The tenants of a file. They share its connections, the embedding model and the LLM."""

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        self._embedder = settings.embedder
        self._metrics = metrics
        self._code_roots = settings.code_roots
        self._settle_tokens = settings.settle_tokens
        self._llm = _open_llm(settings.llm)
        self._closes_llm = self._llm is not settings.llm
        self.database: Database = open_database(settings.url)
        self.database.quota = settings.quota
        self._tenants: OrderedDict[str, Tenant] = OrderedDict()
        self._embedders: dict[str, Embedder] = {}
        self._embedders_lock = threading.Lock()
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._threads = Threads()
        self.calls_left = 0
        """The number of calls under way when the spaces were closed."""

    async def tenant(self, space: str) -> Tenant:
        """Return the tenant of a space. Raise ModelMismatch, UnknownName, JournalError."""
        while space not in self._tenants:
            # Spaces open side by side: one that has an import to finish takes long.
            opening = self._opening.get(space)
            if opening is None:
                opening = self._opening[space] = start_task(self._keep_open(space))
            await asyncio.shield(opening)  # others may wait for it when this client leaves
        self._tenants.move_to_end(space)
        return self._tenants[space]

    async def _keep_open(self, space: str) -> None:
        try:
            self._tenants[space] = await self._threads.run("write", partial(self._open, space))
        finally:
            del self._opening[space]
        while len(self._tenants) > MAX_OPEN:
            self._tenants.popitem(last=False)

    async def keep_up(self, take_uses: Callable[[], dict[str, int]]) -> None:
        """Scrub erased text that a reader kept in the file, finish interrupted imports, drop old
        replies and note the uses of keys, until cancelled."""
        while True:
            await self._threads.run("write", partial(_upkeep, self.database, take_uses()))
            await asyncio.sleep(SCRUB_PAUSE_S)

    async def begin(self, name: str) -> None:
        """Make a space unless it exists. Raise InputError, JournalError."""
        space = Space(self.database, required_name(name, "space"))
        await self._threads.run("write", partial(begin, space, create=True))

    async def read(self, work: Callable[[Reader], T]) -> T:
        """Return the result of a read transaction of all spaces. Raise JournalError."""

        def run() -> T:
            with self.database.read() as reader:
                return work(reader)

        return await self._threads.run("read", partial(run))

    def drop(self, name: str) -> None:
        """Close a removed space."""
        self._tenants.pop(name, None)

    async def figures(self) -> dict[str, float]:
        """Return the figures of the whole memory, by the names of ``metrics.MEMORY``.

        Raise JournalError.
        """
        return await self.read(self._read_figures)

    def close(self, uses: Mapping[str, int] | None = None) -> None:
        """Wait for the calls that have begun, then close the models and the file.

        ``uses`` are the last uses of keys that are not noted yet.
        """
        self.calls_left = self._threads.close()
        if self.calls_left:
            log.warning("stopped without waiting longer for %d calls", self.calls_left)
        elif self._closes_llm and self._llm is not None and not isinstance(self._llm, str):
            self._llm.close()
        with suppress(JournalError):
            keys.note_uses(self.database, uses or {})
        self.database.close()

    def _read_figures(self, reader: Reader) -> dict[str, float]:
        row = reader.row(
            "SELECT (SELECT count(*) FROM space), (SELECT count(*) FROM entry),"
            " (SELECT count(*) FROM work),"
            " (SELECT max(added) FROM entry WHERE seq = (SELECT max(seq) FROM entry)),"
            " (SELECT max(entries) FROM space), (SELECT max(bytes) FROM space)"
        )
        spaces, entries, pending, added, most, longest = row or (0,) * 6
        return {
            "bytes": self.database.size(),
            "spaces": int(spaces),
            "entries": int(entries),
            "pending": int(pending),
            "last_added_seconds": int(added or 0) / 1e6,
            "settle_tokens_today": storage.settle_tokens(reader, today()),
            "settle_tokens_limit": self._settle_tokens,
            "largest_space_entries": int(most or 0),
            "largest_space_bytes": int(longest or 0),
            **{f"quota_{name}": limit for name, limit in self.database.quota.limits().items()},
        }

    def _open(self, space: str) -> Tenant:
        model = space_embedder(Space(self.database, space), self._embedder, self._model)
        memory = Memory(
            self.database,
            space,
            model,
            self._llm,
            code_roots=self._code_roots,
            open_beside=self._views,
        )
        return Tenant(space, memory, self.database, self._threads, self._metrics.batches.observe)

    def _views(self, space: str) -> Views:
        """Return the views of a space, mostly of one that is open: see ``open_beside``."""
        tenant = self._tenants.get(space) or self._open(space)
        return memory_parts(tenant.memory).views

    def _model(self, spec: str | Embedder) -> Embedder:
        """Return the embedder of a specification, opened once for all spaces."""
        if not isinstance(spec, str):
            return open_embedder(spec)
        with self._embedders_lock:
            if spec not in self._embedders:
                self._embedders[spec] = open_embedder(spec)
            return self._embedders[spec]


async def tenant_of(connection: HTTPConnection) -> Tenant:
    """Return the tenant of a request; mounted applications call this, too. Raise InputError."""
    return await _open(connection, caller_of(connection).own_space)


async def _open(connection: HTTPConnection, name: str) -> Tenant:
    spaces: Spaces = connection.app.state.spaces
    tenant = await spaces.tenant(name)
    if name in caller_of(connection).own_spaces:
        memory_parts(tenant.memory).space.is_granted = True
    return tenant


async def open_beside(
    connection: HTTPConnection, names: Iterable[str], needed: Roles = READ
) -> None:
    """Open further spaces that a request names. Raise AccessDenied, before it is known whether they
    exist.
    """
    for name in (every := [*names]):
        caller_of(connection).ensure(needed, name)
    for name in every:
        await _open(connection, name)


async def ensure_may_add(connection: HTTPConnection, name: str | None) -> None:
    """Raise AccessDenied unless the caller may add to a space that a request names."""
    if name is None:
        return
    await open_beside(connection, [name], ADD)
    target = (await _open(connection, name)).memory
    if not caller_of(connection).may(FULL, name) and takes_only_proposals(target):
        raise AccessDenied(f"the space {name!r} takes proposals only, and this key may only add")


Asking = Annotated[Tenant, Depends(tenant_of)]
"""The parameter of a route that works on the caller's space."""


def _upkeep(database: Database, uses: Mapping[str, int]) -> None:
    retry(database)
    try:
        claims.expire(database)
        keys.note_uses(database, uses)
    except JournalError as error:
        log.warning("old replies are not dropped yet, and uses of keys not noted: %s", error)


def _open_llm(spec: str | LLM | None) -> str | LLM | None:
    """Open the language model for all spaces; return None without a configured one.

    ``none`` is returned as it is, so that no memory uses the model of the environment.
    """
    if spec == NONE:
        return spec
    try:
        return open_llm(spec)
    except LLMNotConfigured:
        if spec is not None:
            raise
        return None
