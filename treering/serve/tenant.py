"""A tenant: one space with its memory and its share of the server's threads."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

from fastapi import Depends
from starlette.requests import HTTPConnection

from treering.chat.conversation import Conversations
from treering.corrections import takes_only_proposals
from treering.errors import AccessDenied
from treering.journal import ledger
from treering.journal.contract import Database
from treering.journal.space import Space
from treering.memory import Memory, memory_parts
from treering.records import Hit, Spent
from treering.search.searcher import check_queries
from treering.serve.access import caller_of
from treering.serve.roles import ADD, FULL, READ, Roles
from treering.serve.threads import SHARE, THREADS, Batcher, Share, Threads

if TYPE_CHECKING:
    from treering.serve.spaces import Spaces

P = ParamSpec("P")
T = TypeVar("T")

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
        self._share = Share(threads)
        self._searches = Batcher[str, list[Hit]](MAX_BATCH, THREADS["read"] // SHARE, observe)

    async def search(self, query: str, **options: Any) -> list[Hit]:
        """Search together with the other searches of the moment that have the same options.

        Raise the errors of ``Memory.search``.
        """
        check_queries([query])  # alone: a bad query would fail the whole batch

        async def work(queries: Sequence[str]) -> Sequence[list[Hit]]:
            return await self.call(self.memory.search_many, queries, **options)

        return await self._searches.submit(json.dumps(options), query, work)

    async def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that reads and computes."""
        return await self._share.run("read", partial(work, *args, **kwargs))

    async def change(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that writes: writers wait for each other, searches do not."""
        return await self._share.run("write", partial(work, *args, **kwargs))

    async def call_slow(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that waits for a language model or reads everything."""
        return await self._share.run("wait", partial(work, *args, **kwargs))

    def conversations(self) -> Conversations:
        """Return the conversations of the space."""
        space, views, intake, account, beside = memory_parts(self.memory)
        return Conversations(space, account, views, intake, beside)

    def spend(self, cost: Spent) -> None:
        """Add a cost to the ledger of the space."""
        with Space(self.database, self.space).write() as writer:
            ledger.spend(writer, cost)


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
