"""From entries to fragments: spans, terms, and vectors of their texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from treering.arrays import Floats
from treering.embed.contract import Embedder, raw_vectors, unit_rows
from treering.journal.entries import OWN_SOURCES
from treering.llm.tokens import tokens_upto
from treering.records import Entry
from treering.search.terms import Terms, index_text, terms
from treering.split import FragmentSize, Lengths, Span, split
from treering.split.text import MAX_FRAGMENT_CHARS, LengthUnit, spans, words_upto
from treering.text import with_speaker

_LENGTHS: Mapping[LengthUnit, Lengths | None] = {
    "characters": None,
    "words": words_upto,
    "tokens": tokens_upto,
}


class Piece(NamedTuple):
    """A fragment before it is stored. Without a vector it is embedded later."""

    span: Span
    terms: Terms
    vector: Floats | None = None


Deriver = Callable[[Mapping[int, Entry], FragmentSize], Mapping[int, list[Piece]]]
"""Cuts entries into pieces in other processes, with vectors as far as it could embed them.

Raises EmbeddingError and MissingExtra if it cannot embed for now.
"""


def cut(
    entries: Mapping[int, Entry],
    size: FragmentSize,
    vectors_of: Callable[[list[str]], Floats | Sequence[Floats] | None] | None = None,
) -> dict[int, list[Piece]]:
    """Cut entries into pieces, with the vectors that ``vectors_of`` gives, if it is given.

    It may give vectors of the first texts only, or None.
    """
    cuts = {
        seq: split(entry.text, entry.kind, size.count, _LENGTHS[size.unit])
        for seq, entry in entries.items()
        if not entry.source.startswith(OWN_SOURCES)
    }
    whole = [(entries[seq], span) for seq, spans in cuts.items() for span in spans]
    texts = [with_speaker(entry.text[slice(*span)], entry.speaker) for entry, span in whole]
    vectors = vectors_of(texts) if vectors_of and texts else None
    rows = iter(() if vectors is None else vectors)
    # No model needs to see the date.
    counted = (
        terms(index_text(text, entry.at)) for text, (entry, _) in zip(texts, whole, strict=True)
    )
    return {
        seq: [Piece(span, next(counted), next(rows, None)) for span in spans]
        for seq, spans in cuts.items()
    }


class PartwiseEmbedder:
    """An embedder of texts that are longer than the model reads.

    A text of over ``reads`` characters is cut between sentences. Its vector is the mean of its
    parts' unit vectors, each weighed by its length. ``reads`` is the model's attribute of that
    name, or else the length that the bundled model reads.
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
        """One vector a text; for a text in one part, the model's own."""
        cuts = [spans(text, self._reads) or [(0, 0)] for text in texts]
        parts = [text[slice(*span)] for text, cut in zip(texts, cuts, strict=True) for span in cut]
        vectors = raw_vectors(self._model, parts, self.dimension, query=query)
        made = np.empty((len(texts), vectors.shape[1]), dtype=np.float32)
        first = 0
        for row, cut in enumerate(cuts):
            own = vectors[first : first + len(cut)]
            lengths = np.array([stop - start for start, stop in cut], dtype=np.float32)
            made[row] = own[0] if len(cut) == 1 else lengths @ unit_rows(own) / lengths.sum()
            first += len(cut)
        return made
