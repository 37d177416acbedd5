"""Any model of the fastembed library, on ONNX without torch (extra ``fastembed``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from treering.arrays import Floats
from treering.embed.contract import unit_rows
from treering.errors import EmbeddingError, InputError, MissingExtra

try:
    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder
except ModuleNotFoundError as missing:
    raise MissingExtra.of("fastembed", "fastembed") from missing

M = TypeVar("M")

PREFIXES: Final = {
    "intfloat/": ("query: ", "passage: "),
    "nomic-ai/": ("search_query: ", "search_document: "),
    "snowflake/": ("Represent this sentence for searching relevant passages: ", ""),
}
"""Prefixes of queries and of texts that models were trained with, by the begin of their names. The
library adds none of these."""


class FastEmbedEmbedder:
    """A model by its name; its files are downloaded once, or read from ``folder``."""

    def __init__(self, model: str, folder: Path | None = None) -> None:
        self._model = _open_model(TextEmbedding, model, folder)
        self.name = f"fastembed:{model}"
        self.dimension: int = self._model.embedding_size
        beginnings = [begin for begin in PREFIXES if model.lower().startswith(begin)]
        self._prefixes = PREFIXES[beginnings[0]] if beginnings else ("", "")

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """One unit vector a text."""
        prefix = self._prefixes[0 if query else 1]
        run = self._model.query_embed if query else self._model.passage_embed
        vectors = [*run([f"{prefix}{text}" for text in texts])] if texts else []
        shape = (len(vectors), self.dimension)
        return unit_rows(np.array(vectors, dtype=np.float32).reshape(shape))


class FastEmbedReranker:
    """A cross-encoder by its name; its files are downloaded once, or read from ``folder``."""

    def __init__(self, model: str, folder: Path | None = None) -> None:
        self._model = _open_model(TextCrossEncoder, model, folder)

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """A logit for each text."""
        return [float(score) for score in self._model.rerank(query, list(texts))]


def _open_model(kind: Callable[..., M], model: str, folder: Path | None) -> M:
    if not model:
        raise InputError("fastembed: names no model; give fastembed:MODEL")
    options: dict[str, Any] = {} if folder is None else {"specific_model_path": str(folder)}
    try:
        return kind(model, **options)
    except Exception as error:  # a library of its own for each kind of failure
        raise EmbeddingError(
            f"fastembed cannot load {model!r} ({type(error).__name__}: {str(error)[:300]}); see "
            "list_supported_models() of its classes"
        ) from error
