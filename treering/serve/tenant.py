"""What a request works on: the memory of the caller's space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ParamSpec, TypeVar

from fastapi import Depends
from starlette.requests import HTTPConnection

from treering.memory import Memory
from treering.records import Hit
from treering.serve.access import caller_of
from treering.serve.spaces import Options, Spaces

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tenant:
    """The space of a caller, its memory, and the threads that its calls run in."""

    space: str
    memory: Memory
    spaces: Spaces

    async def search(self, query: str, options: Options) -> list[Hit]:
        """Search; searches of many callers at one moment cost little more than one."""
        return await self.spaces.search(self.memory, query, options)

    async def call(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that reads and computes."""
        return await self.spaces.run(work, *args, **kwargs)

    async def change(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that writes."""
        return await self.spaces.run_write(work, *args, **kwargs)

    async def call_slow(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call that waits for a language model."""
        return await self.spaces.run_slow(work, *args, **kwargs)


async def tenant_of(connection: HTTPConnection) -> Tenant:
    """The tenant that a request is for; mounted applications call this too."""
    spaces: Spaces = connection.app.state.spaces
    space = caller_of(connection).space
    return Tenant(space, await spaces.memory(space), spaces)


Asking = Annotated[Tenant, Depends(tenant_of)]
"""The parameter of a route that works on the caller's space."""
