"""LlamaIndex: its vector index in memory, alone and fused with its BM25 retriever."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treering.embed.contract import Embedder
from treering_bench.peers.contract import missing_peer


class LlamaIndex:
    """A ``VectorStoreIndex`` of one node a text; ``hybrid`` is its fusion retriever with BM25."""

    def __init__(self, _: Path, embedder: Embedder, *, hybrid: bool = False) -> None:
        try:
            from llama_index.core import VectorStoreIndex
            from llama_index.core.embeddings import MockEmbedding
        except ImportError as error:
            raise missing_peer("llama-index-core") from error
        # Vectors come with the nodes and the query, so its own model is never asked.
        unused = MockEmbedding(embed_dim=embedder.dimension)
        self._index = VectorStoreIndex(nodes=[], embed_model=unused)
        self._embedder = embedder
        self._hybrid = hybrid
        self._nodes: list[Any] = []
        self._words: Any = None

    def add(self, texts: Sequence[str]) -> None:
        """Insert nodes; BM25 is made anew with the next search, as its retriever is built whole."""
        from llama_index.core.schema import TextNode

        vectors = self._embedder.embed(texts)
        new = [
            TextNode(id_=str(len(self._nodes) + n), text=text, embedding=vector.tolist())
            for n, (text, vector) in enumerate(zip(texts, vectors, strict=True))
        ]
        self._index.insert_nodes(new)
        self._nodes += new
        self._words = None

    def search(self, query: str, k: int) -> list[int]:
        """The nearest nodes, or those of both retrievers by reciprocal ranks."""
        from llama_index.core.schema import QueryBundle

        [vector] = self._embedder.embed([query], query=True)
        asked = QueryBundle(query, embedding=vector.tolist())
        nearest = self._index.as_retriever(similarity_top_k=k)
        nodes = self._fused(nearest, k).retrieve(asked) if self._hybrid else nearest.retrieve(asked)
        return [int(scored.node.node_id) for scored in nodes]

    def _fused(self, nearest: Any, k: int) -> Any:
        from llama_index.core.llms import MockLLM
        from llama_index.core.retrievers import QueryFusionRetriever
        from llama_index.core.retrievers.fusion_retriever import FUSION_MODES

        if self._words is None:
            self._words = _bm25(self._nodes, k)
        return QueryFusionRetriever(
            [nearest, self._words],
            similarity_top_k=k,
            num_queries=1,  # no questions made up by a model
            mode=FUSION_MODES.RECIPROCAL_RANK,
            use_async=False,
            llm=MockLLM(),
        )

    def close(self) -> None:
        """Do nothing: no resource is held."""


def _bm25(nodes: list[Any], k: int) -> Any:
    try:
        from llama_index.retrievers.bm25 import BM25Retriever
    except ImportError as error:
        raise missing_peer("llama-index-retrievers-bm25") from error
    return BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=min(k, len(nodes)))
