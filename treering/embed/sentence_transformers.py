"""Any local model of the sentence-transformers library (extra ``sentence-transformers``)."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from treering.arrays import Floats
from treering.errors import EmbeddingError, InputError, MissingExtra

try:
    from sentence_transformers import SentenceTransformer
except ModuleNotFoundError as missing:
    raise MissingExtra.of("sentence-transformers", "sentence-transformers") from missing


READS_TOKENS = 256
"""Of a model that does not say."""


class SentenceTransformerEmbedder:
    """A model by name or folder. Models that know a ``query`` prompt get it for queries."""

    def __init__(self, model: str) -> None:
        if not model:
            raise InputError("sentence-transformers: names no model; give its name or folder")
        try:
            self._model = SentenceTransformer(model)
        except (OSError, ValueError) as error:
            raise EmbeddingError(f"cannot load {model!r}: {error}") from error
        self._running = threading.Lock()  # a torch module is not safe to run from two threads
        self.name = f"sentence-transformers:{model}"
        # A token has about four characters and a little; one that does not fit is not read.
        self.reads = 4 * int(self._model.max_seq_length or READS_TOKENS)

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        dimension: int = self._model.get_sentence_embedding_dimension()
        return dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """One unit vector a text."""
        prompt = "query" if query and "query" in self._model.prompts else None
        with self._running:
            vectors = self._model.encode(
                list(texts),
                prompt_name=prompt,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        return np.asarray(vectors, dtype=np.float32)
