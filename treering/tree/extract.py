"""Summaries without a language model: the most central sentences of some texts.

A sentence is central if it shares many of the texts' characteristic words: the cosine of its tf-idf
vector and the mean of all of them. Nothing is drawn by chance, so equal texts give equal summaries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from treering.score.terms import terms

SAME_SENTENCE: Final = 0.7
"""Cosine above which a sentence says what a chosen one says: reworded, not merely on the topic."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|\n+|(?<=[。！？])")

Count = Callable[[str], int]


def central_sentences(texts: Sequence[str], limit: int, count: Count) -> str:
    """The most central sentences of ``texts``, in their order, within ``limit`` tokens.

    Everything is kept if it fits. A sentence longer than ``limit`` is cut after a word if nothing
    else was chosen before it. ``count`` counts the tokens of a text.
    """
    sentences = list(dict.fromkeys(s for text in texts for s in _sentences(text)))
    lengths = [count(sentence) for sentence in sentences]
    if sum(lengths) <= limit:
        return " ".join(sentences)
    rows = _tf_idf(sentences)
    centrality = rows @ np.asarray(rows.mean(axis=0)).ravel()
    chosen: list[int] = []
    left = limit
    for index in np.argsort(-centrality, kind="stable"):
        if lengths[index] <= left and not _said(rows, chosen, index):
            chosen.append(int(index))
            left -= lengths[index]
    if not chosen:
        return _cut(sentences[int(centrality.argmax())], limit, count)
    return " ".join(sentences[index] for index in sorted(chosen))


def _sentences(text: str) -> list[str]:
    return [stripped for part in _SENTENCE_END.split(text) if (stripped := part.strip())]


def _tf_idf(sentences: Sequence[str]) -> csr_array:
    """Unit rows, one a sentence; a sentence of stop words alone has an empty row."""
    counted = [terms(sentence) for sentence in sentences]
    ends = np.cumsum([0, *(len(found) for found in counted)])
    pairs = np.concatenate(counted)
    words, columns = np.unique(pairs[:, 0], return_inverse=True)
    frequency = np.bincount(columns, minlength=len(words))
    weights = pairs[:, 1] * np.log1p(len(sentences) / frequency)[columns]
    rows = csr_array((weights, columns, ends), shape=(len(sentences), max(len(words), 1)))
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(ends))
    return rows


def _said(rows: csr_array, chosen: Sequence[int], index: int) -> bool:
    if not chosen:
        return False
    similar: NDArray[np.float64] = (rows[chosen] @ rows[[index]].T).toarray()
    return bool(similar.max() > SAME_SENTENCE)


def _cut(sentence: str, limit: int, count: Count) -> str:
    """As many leading words as fit, at least one."""
    words = sentence.split()
    low, high = 1, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if count(" ".join(words[:middle])) <= limit else (low, middle - 1)
        )
    return " ".join(words[:low])
