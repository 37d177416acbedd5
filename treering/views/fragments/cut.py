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


def cut_and_embed(
    entries: Mapping[int, Entry],
    size: FragmentSize,
    vectors_of: Callable[[list[str]], Floats | Sequence[Floats] | None],
) -> dict[int, list[Piece]]:
    """The pieces of entries, with the vectors that ``vectors_of`` gives.

    It may give vectors of the first texts only, or None.
    """
    cuts = _spans(entries, size)
    texts = _read(entries, cuts)
    vectors = vectors_of(texts) if texts else None
    return _pieces(entries, cuts, texts, () if vectors is None else vectors)


def cut(entries: Mapping[int, Entry], size: FragmentSize) -> dict[int, list[Piece]]:
    """The pieces of entries, without vectors."""
    cuts = _spans(entries, size)
    return _pieces(entries, cuts, _read(entries, cuts), ())


def _spans(entries: Mapping[int, Entry], size: FragmentSize) -> dict[int, list[Span]]:
    return {
        seq: split(entry.text, entry.kind, size.count, _LENGTHS[size.unit])
        for seq, entry in entries.items()
        if not entry.source.startswith(OWN_SOURCES)
    }


def _read(entries: Mapping[int, Entry], cuts: Mapping[int, Sequence[Span]]) -> list[str]:
    return [
        with_speaker(entries[seq].text[start:stop], entries[seq].speaker)
        for seq, spans in cuts.items()
        for start, stop in spans
    ]


def _pieces(
    entries: Mapping[int, Entry],
    cuts: Mapping[int, Sequence[Span]],
    texts: Sequence[str],
    vectors: Floats | Sequence[Floats],
) -> dict[int, list[Piece]]:
    """The pieces of entries, given their spans and texts, and vectors of the first texts."""
    times = (entries[seq].at for seq, spans in cuts.items() for _ in spans)
    # No model needs to see the date.
    counted = (terms(index_text(text, at)) for text, at in zip(texts, times, strict=True))
    rows = iter(vectors)
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
