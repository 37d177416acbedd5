"""Chroma: a vector store with an HNSW index in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from treering.embed.contract import Embedder
from treering_bench.peers.contract import missing_peer


class Chroma:
    """One collection, cosine distance, settings as Chroma ships them."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        try:
            import chromadb
        except ImportError as error:
            raise missing_peer("chromadb") from error
        settings = chromadb.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(str(folder), settings=settings)
        self._texts = self._client.create_collection(
            "texts", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )
        self._embedder = embedder
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """In the largest batches that Chroma takes."""
        step = self._client.get_max_batch_size()
        for start in range(0, len(texts), step):
            batch = list(texts[start : start + step])
            numbers = range(self._count, self._count + len(batch))
            self._texts.add(
                ids=[str(number) for number in numbers],
                documents=batch,
                embeddings=self._embedder.embed(batch),
            )
            self._count += len(batch)

    def search(self, query: str, k: int) -> list[int]:
        """The nearest texts by approximate search."""
        vector = self._embedder.embed([query], query=True)
        n = min(k, self._count)
        answer = self._texts.query(query_embeddings=vector, n_results=n)
        return [int(name) for name in answer["ids"][0]]

    def close(self) -> None:
        """Release the database."""
        self._client.close()
