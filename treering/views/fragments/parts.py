"""A vector for a text that is longer than the model reads, made of its parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treering.arrays import Floats
from treering.embed.checked import shaped, unit_rows
from treering.embed.contract import Embedder
from treering.split.text import MAX_FRAGMENT_CHARS, spans


class PartwiseEmbedder:
    """An embedder that loses nothing of long texts.

    A text of over ``reads`` characters is cut between sentences. Its vector is the mean of its
    parts' unit vectors, each weighed by its length. ``reads`` is that of the model, where it has
    such an attribute, else what the bundled model reads.
    """

    def __init__(self, model: Embedder) -> None:
        self._model = model
        self._reads = int(getattr(model, "reads", MAX_FRAGMENT_CHARS))

    @property
    def name(self) -> str:
        """The model's name: its vectors of short texts are the same."""
        return self._model.name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._model.dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """One vector a text; of a text in one part it is the model's own."""
        cuts = [spans(text, self._reads) or [(0, 0)] for text in texts]
        parts = [text[slice(*span)] for text, cut in zip(texts, cuts, strict=True) for span in cut]
        vectors = shaped(self._model, parts, self.dimension, query=query)
        made = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
        first = 0
        for row, cut in enumerate(cuts):
            own = vectors[first : first + len(cut)]
            lengths = np.array([stop - start for start, stop in cut], dtype=np.float32)
            made[row] = own[0] if len(cut) == 1 else lengths @ unit_rows(own) / lengths.sum()
            first += len(cut)
        return made
