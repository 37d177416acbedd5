"""Iterators that are read in worker threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

PAGE = 256
"""Items fetched at a time: a change of threads for each one would cost more."""


async def paged(items: Iterator[T]) -> AsyncIterator[T]:
    """The items of an iterator, each page of them made in a worker thread."""
    while page := await asyncio.to_thread(lambda: list(islice(items, PAGE))):
        for item in page:
            yield item
