"""Embeddings from any OpenAI-compatible endpoint: OpenAI, Ollama, vLLM, llama.cpp's server."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import numpy as np

from treering.arrays import Floats
from treering.errors import EmbeddingError, InputError, MissingExtra

try:
    import openai
except ModuleNotFoundError as missing:
    raise MissingExtra.of("openai", "llm") from missing

OPENAI_URL = "https://api.openai.com/v1"
API_KEY = "TREERING_EMBED_API_KEY"
BATCH = 128  # texts a request; OpenAI takes 2048, small servers run out of memory before that
TIMEOUT_S = 60.0
RETRIES = 3  # by the client, with exponential waits, on rate limits, time-outs and server errors
MAX_CHARS = 24_000  # about 6,000 tokens; current models read 8,192 and refuse longer texts


class OpenAIEmbedder:
    """``MODEL`` or ``MODEL@BASE_URL``. The key is TREERING_EMBED_API_KEY, or, for OpenAI itself,
    OPENAI_API_KEY; it is sent nowhere else. ``dimension`` asks the endpoint once.
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
        self._client = openai.OpenAI(
            base_url=self._url,
            api_key=key or "no-key",
            max_retries=RETRIES,
            # A redirect could send texts to another host than the one that was configured.
            http_client=openai.DefaultHttpx2Client(timeout=TIMEOUT_S, follow_redirects=False),
        )
        if self._url != OPENAI_URL:
            # Taken from OPENAI_ORG_ID and OPENAI_PROJECT_ID; nobody else's business.
            self._client.organization = self._client.project = None
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
        except (openai.OpenAIError, AttributeError, TypeError, ValueError) as error:
            raise EmbeddingError(
                f"{self._model} at {self._url} gave no embeddings ({type(error).__name__}: "
                f"{str(error)[:300]}); is it running, and does it have that model?"
            ) from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise EmbeddingError(
                f"{self._model} at {self._url} gave {vectors.shape} for {len(texts)} texts"
            )
        return vectors
