"""Mem0: its memory over a local Qdrant, messages stored as they are.

Mem0 proper has a language model turn messages into facts. That would measure the model, so
``infer=False`` stores every text whole, and what is compared is what Mem0 finds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treering.embed.contract import Embedder
from treering_bench.peers.contract import missing_peer

_USER = "bench"


class Mem0:
    """One user's memory; nothing leaves the machine."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        # Both are read when the package is imported: no telemetry, no files in the home folder.
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(folder)
        try:
            from mem0 import Memory
        except ImportError as error:
            raise missing_peer("mem0ai") from error
        self._memory = Memory.from_config(_configuration(folder, embedder.dimension))
        self._memory.embedding_model = _Mem0Embedder(embedder)
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """One call a text, as Mem0 has no batch without a model."""
        for text in texts:
            fields = {"number": self._count}
            self._memory.add(text, user_id=_USER, metadata=fields, infer=False)
            self._count += 1

    def search(self, query: str, k: int) -> list[int]:
        """What Mem0 finds, without its lower bound on similarity."""
        filters = {"user_id": _USER}
        answer = self._memory.search(query, top_k=k, filters=filters, threshold=0.0)
        return [int(result["metadata"]["number"]) for result in answer["results"]]

    def close(self) -> None:
        """Release Qdrant's files."""
        self._memory.vector_store.client.close()


class _Mem0Embedder:
    """Our embedder as Mem0 asks for one."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One vector as a list."""
        vector = self._embedder.embed([text], query=memory_action == "search")[0]
        return [float(value) for value in vector]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """As lists."""
        return [self.embed(text, memory_action) for text in texts]


def _configuration(folder: Path, dimension: int) -> dict[str, Any]:
    store = {
        "collection_name": "texts",
        "path": str(folder / "qdrant"),
        "embedding_model_dims": dimension,
        "on_disk": True,
    }
    never_asked = {"provider": "openai", "config": {"api_key": "none"}}
    return {
        "vector_store": {"provider": "qdrant", "config": store},
        "llm": never_asked,
        "embedder": never_asked,
        "history_db_path": str(folder / "history.db"),
    }
