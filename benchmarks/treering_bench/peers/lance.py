"""LanceDB: a columnar table with vector search, alone and joined with its full-text search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treering.embed.contract import Embedder
from treering_bench.peers.contract import missing_peer


class Lance:
    """One table, cosine distance, no vector index (exact); ``hybrid`` adds BM25 by ranks (RRF)."""

    def __init__(self, folder: Path, embedder: Embedder, *, hybrid: bool = False) -> None:
        try:
            import lancedb
            from lancedb.rerankers import RRFReranker
        except ImportError as error:
            raise missing_peer("lancedb") from error
        self._database = lancedb.connect(folder)
        self._reranker = RRFReranker()
        self._embedder = embedder
        self._hybrid = hybrid
        self._table: Any = None
        self._count = 0

    def add(self, texts: Sequence[str]) -> None:
        """Append rows; the full-text index takes in what is new."""
        vectors = self._embedder.embed(texts)
        rows = [
            {"number": self._count + n, "text": text, "vector": vector}
            for n, (text, vector) in enumerate(zip(texts, vectors, strict=True))
        ]
        if self._table is None:
            self._table = self._database.create_table("texts", rows)
            if self._hybrid:
                self._table.create_fts_index("text")
        else:
            self._table.add(rows)
            if self._hybrid:
                self._table.optimize()
        self._count += len(rows)

    def search(self, query: str, k: int) -> list[int]:
        """The nearest texts, or the best of both rankings."""
        [vector] = self._embedder.embed([query], query=True)
        if self._hybrid:
            asked = self._table.search(query_type="hybrid").vector(vector).text(query)
            asked = asked.distance_type("cosine").rerank(self._reranker)
        else:
            asked = self._table.search(vector).distance_type("cosine")
        rows = asked.limit(k).select(["number"]).to_list()
        return [int(row["number"]) for row in rows]

    def close(self) -> None:
        """Do nothing: no resource is held."""
