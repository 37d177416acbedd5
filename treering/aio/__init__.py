"""Memory for asyncio: ``proxy.py`` runs methods in threads, ``memory.pyi`` has their types."""

from treering.aio.memory import AsyncMemory

__all__ = ["AsyncMemory"]
