"""Embeddings and rerankers behind HTTP, by the protocols that most servers speak."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from treering.arrays import Floats
from treering.errors import EmbeddingError, InputError, MissingExtra
from treering.openai_client import open_client

try:
    import openai
except ModuleNotFoundError as missing:
    raise MissingExtra.of("openai", "llm") from missing

OPENAI_URL: Final = "https://api.openai.com/v1"
API_KEY: Final = "TREERING_EMBED_API_KEY"
RERANK_KEY: Final = "TREERING_RERANK_API_KEY"
BATCH: Final = 128  # texts a request; OpenAI takes 2048, small servers run out of memory before
TIMEOUT_S: Final = 60.0
RETRIES: Final = 3
MAX_CHARS: Final = 24_000  # about 6,000 tokens; current models read 8,192 and refuse longer texts

_FAILURES: Final = (openai.OpenAIError, AttributeError, KeyError, TypeError, ValueError)
"""Errors of the client, and of answers in another form."""


class OpenAIEmbedder:
    """``MODEL`` or ``MODEL@BASE_URL``: OpenAI, Ollama, vLLM, llama.cpp's server.

    The key is TREERING_EMBED_API_KEY, or, for OpenAI itself, OPENAI_API_KEY; it is sent nowhere
    else. ``dimension`` asks the endpoint once.
    """

    def __init__(self, argument: str) -> None:
        self._model, _, url = argument.partition("@")
        if not self._model:
            raise InputError("openai: names no model; give openai:MODEL or openai:MODEL@BASE_URL")
        self._url = url or OPENAI_URL
        key = os.environ.get(API_KEY)
        if key is None and self._url == OPENAI_URL:
            key = os.environ.get("OPENAI_API_KEY")
            if not key:
                raise EmbeddingError(f"{self._url} needs a key: set {API_KEY} or OPENAI_API_KEY")
        self._client = open_client(self._url, key, timeout_s=TIMEOUT_S, retries=RETRIES)
        self._probing = threading.Lock()
        self._dimension: int | None = None
        self.name = f"openai:{argument}"

    @property
    def dimension(self) -> int:
        """The length of a vector, learned from the first answer. Raises EmbeddingError."""
        with self._probing:
            if self._dimension is None:
                self._dimension = self._request(["dimension"]).shape[1]
            return self._dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:  # noqa: ARG002
        """One vector a text. Raises EmbeddingError."""
        width = self.dimension
        batches = [
            self._request([text[:MAX_CHARS] for text in texts[start : start + BATCH]])
            for start in range(0, len(texts), BATCH)
        ]
        return np.concatenate(batches) if batches else np.zeros((0, width), dtype=np.float32)

    def _request(self, texts: list[str]) -> Floats:
        try:
            answer = self._client.embeddings.create(model=self._model, input=texts)
            ordered = sorted(answer.data, key=lambda item: item.index)
            vectors = np.array([item.embedding for item in ordered], dtype=np.float32)
        except _FAILURES as error:
            raise EmbeddingError(
                f"{self._model} at {self._url} gave no embeddings ({_short(error)}); is it "
                "running, and does it have that model?"
            ) from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise EmbeddingError(
                f"{self._model} at {self._url} gave {vectors.shape} for {len(texts)} texts"
            )
        return vectors


class ServerReranker:
    """The reranker at ``http://HOST/rerank#MODEL``; the model is optional.

    Cohere, Jina, vLLM, llama.cpp's server, LocalAI and Text Embeddings Inference speak this
    protocol. The key is TREERING_RERANK_API_KEY.
    """

    def __init__(self, url: str) -> None:
        self._url, _, self._model = url.partition("#")
        key = os.environ.get(RERANK_KEY)
        self._client = open_client(self._url, key, timeout_s=TIMEOUT_S, retries=RETRIES)

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """The score of each text. Raises EmbeddingError."""
        # Text Embeddings Inference calls the documents texts; others pass over that.
        body: dict[str, Any] = {"query": query, "documents": [*texts], "texts": [*texts]}
        if self._model:
            body["model"] = self._model
        try:
            answer: Any = self._client.post(self._url, cast_to=object, body=body)
            rows = answer["results"] if isinstance(answer, dict) else answer
            scores = {
                int(row["index"]): float(row.get("relevance_score", row.get("score")))
                for row in rows
            }
            return [scores[place] for place in range(len(texts))]
        except _FAILURES as error:
            raise EmbeddingError(
                f"the reranker at {self._url} gave no score for each text ({_short(error)}); does "
                "it speak /rerank?"
            ) from error


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}"
