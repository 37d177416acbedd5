"""Memory for asyncio: each module here is written by tools/generate_async.py, but for paging.py."""

from treering.aio.memory import AsyncMemory

__all__ = ["AsyncMemory"]
