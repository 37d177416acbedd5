"""Classes whose methods run those of another class in worker threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from functools import wraps
from itertools import islice
from types import FunctionType
from typing import Any, ClassVar, Final, Protocol, Self, TypeVar

from treering.chat.answer import Answer
from treering.chat.stream import ChatStream

T = TypeVar("T")

PAGE: Final = 256
"""Items fetched at a time: a change of threads for each one would cost more."""


class AsyncProxy:
    """Has the public methods of its ``source`` class, each run in a worker thread.

    The annotation of a method says what becomes of its result: an iterator is read in threads, and
    an object of a class with a proxy gets one. Getting at the object may take time, as opening a
    view does, so that is done in the thread, too.
    """

    source: ClassVar[type]
    _proxies: ClassVar[dict[str, type[AsyncProxy]]] = {}
    """The proxies by the names of their source classes."""

    def __init_subclass__(cls, source: type) -> None:
        cls.source = source
        AsyncProxy._proxies[source.__name__] = cls
        for name, member in vars(source).items():
            if name.startswith("_") or name in vars(cls):
                continue
            if isinstance(member, FunctionType):
                setattr(cls, name, _method(member))
            elif isinstance(member, property):
                setattr(cls, name, _property(name, member))

    def __init__(self, get: Callable[[], Any]) -> None:
        self._get = get

    @classmethod
    def _of(cls, get: Callable[[], Any]) -> Self:
        proxy = cls.__new__(cls)
        AsyncProxy.__init__(proxy, get)
        return proxy


def _method(method: FunctionType) -> Callable[..., Any]:
    """Return the method of a proxy."""
    name, returns = method.__name__, str(method.__annotations__.get("return"))
    if returns.startswith("Iterator["):

        @wraps(method)
        def iterate(self: AsyncProxy, *args: Any, **options: Any) -> AsyncIterator[Any]:
            return iterate_pages(getattr(self._get(), name)(*args, **options))

        return iterate

    @wraps(method)
    async def call(self: AsyncProxy, *args: Any, **options: Any) -> Any:
        work = lambda: getattr(self._get(), name)(*args, **options)  # noqa: E731
        if returns == "ChatStream":
            return AsyncChatStream(await close_if_cancelled(work))
        result = await asyncio.to_thread(work)
        proxy = AsyncProxy._proxies.get(returns)
        return proxy._of(lambda: result) if proxy else result

    return call


def _property(name: str, member: property) -> property:
    """Return the property of a proxy: a view, or a value that needs no work."""
    returns = str(member.fget.__annotations__.get("return"))

    def get(self: AsyncProxy) -> Any:
        proxy = AsyncProxy._proxies.get(returns)
        return (
            proxy._of(lambda: getattr(self._get(), name)) if proxy else getattr(self._get(), name)
        )

    return property(get, doc=member.__doc__)


async def iterate_pages(items: Iterator[T]) -> AsyncIterator[T]:
    """Yield the items of an iterator, which worker threads read page by page."""
    while page := await asyncio.to_thread(lambda: list(islice(items, PAGE))):
        for item in page:
            yield item


class Closable(Protocol):
    """An object that must be closed after use."""

    def close(self) -> None:
        """Close it; a second call does nothing."""
        ...


C = TypeVar("C", bound=Closable)


async def close_if_cancelled(work: Callable[[], C]) -> C:
    """Return the object that ``work`` opens in a thread; close it if the caller is cancelled."""
    opened: Future[C] = Future()
    try:
        await asyncio.to_thread(lambda: opened.set_result(work()))
    except asyncio.CancelledError:
        opened.add_done_callback(lambda done: done.result().close())  # in its thread, or now
        raise
    return opened.result()


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
            if self._reading is None or self._is_closed:  # a closed one raises
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

    async def __aexit__(self, *_error: object) -> None:
        await self.close()
