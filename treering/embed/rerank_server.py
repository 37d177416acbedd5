"""Rerankers behind HTTP: servers that speak the common ``/rerank`` protocol.

Cohere, Jina, vLLM, llama.cpp's server, LocalAI and Text Embeddings Inference do.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from treering.errors import EmbeddingError, MissingExtra

try:
    import httpx2
except ModuleNotFoundError as missing:
    raise MissingExtra.of("httpx2", "client") from missing

API_KEY: Final = "TREERING_RERANK_API_KEY"
TIMEOUT_S: Final = 60.0


class ServerReranker:
    """The reranker at a URL, ``http://HOST/rerank#MODEL``; the model may be left out.

    The key is TREERING_RERANK_API_KEY.
    """

    def __init__(self, url: str) -> None:
        self._url, _, self._model = url.partition("#")

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """The score of each text. Raises EmbeddingError."""
        # Text Embeddings Inference calls the documents texts; others pass over that.
        asked: dict[str, Any] = {"query": query, "documents": [*texts], "texts": [*texts]}
        if self._model:
            asked["model"] = self._model
        key = os.environ.get(API_KEY)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        try:
            # A redirect could send texts to another host than the one that was configured.
            reply = httpx2.post(
                self._url, json=asked, headers=headers, timeout=TIMEOUT_S, follow_redirects=False
            )
            reply.raise_for_status()
            found = reply.json()
            rows = found["results"] if isinstance(found, dict) else found
            by_text = {
                int(row["index"]): float(row.get("relevance_score", row.get("score")))
                for row in rows
            }
            return [by_text[place] for place in range(len(texts))]
        except (httpx2.HTTPError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise EmbeddingError(
                f"the reranker at {self._url} gave no score for each text "
                f"({type(error).__name__}: {str(error)[:200]}); does it speak /rerank?"
            ) from error
