"""A memory in LlamaIndex: as a retriever, and as a block of an agent's memory."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from treering.adapters import hit_metadata, storable_value
from treering.errors import MissingExtra
from treering.ingest.where import Where
from treering.memory import Memory
from treering.records import Hit
from treering.search.searcher import MAX_QUERY_CHARS

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as missing:
    raise MissingExtra.of(missing.name or "llama-index-core", "llama-index") from missing


class TreeringNodeRetriever(BaseRetriever):
    """The k fragments that answer a query best, relations included, as nodes.

    ``where`` are filters as ``Memory.search`` takes them. A node's metadata has its origin. A
    memory's only text gets no score: there is nothing to compare it with.
    """

    def __init__(self, memory: Memory, *, k: int = 10, where: Where | None = None) -> None:
        self._memory = memory
        self._k = k
        self._where = where or Where()
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._memory.search(query_bundle.query_str, k=self._k, **self._where)
        return [
            NodeWithScore(node=_node(hit), score=hit.score if hit.why.is_scored else None)
            for hit in hits
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


TreeringRetriever = TreeringNodeRetriever
"""The name to import it by, as in the adapter for LangChain."""


class TreeringMemoryBlock(BaseMemoryBlock[str]):
    """A block of an agent's memory: it stores the messages that leave the short-term memory.

    It recalls passages within ``budget`` tokens for the last message of the user.
    """

    name: str = "treering"
    memory: Memory
    budget: int = 1000

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        del block_kwargs  # arguments of other blocks
        questions = [
            message.content or "" for message in messages or [] if message.role == MessageRole.USER
        ]
        query = questions[-1][-MAX_QUERY_CHARS:] if questions else ""
        if not query.strip():
            return ""
        context = await asyncio.to_thread(self.memory.context, query, budget=self.budget)
        return context.text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        worded = [_message(message) for message in messages if (message.content or "").strip()]
        if worded:
            await asyncio.to_thread(self.memory.add, worded)


def _node(hit: Hit) -> TextNode:
    return TextNode(
        id_=f"{hit.entry_id}:{hit.start}",
        text=hit.text,
        metadata=hit_metadata(hit) | {"why": str(hit.why)},
        start_char_idx=hit.start,
        end_char_idx=hit.end,
    )


def _message(message: ChatMessage) -> dict[str, Any]:
    """Return a message to remember; its time distinguishes it from an equal one."""
    return {
        "role": message.role.value,
        "content": storable_value(message.content),
        "at": datetime.now(UTC),
        "session": message.additional_kwargs.get("session_id"),
    }
