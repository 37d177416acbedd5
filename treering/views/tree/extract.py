"""Summaries without a language model: the sentences that say most of what some texts say.

A word's weight is the number of sentences it occurs in. Again and again the sentence is taken whose
new words weigh most for its length. This is budgeted greedy coverage (Lin and Bilmes, 2010); it
skips greetings and repetitions alike. Nothing is random, so equal texts give equal summaries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from treering import forks
from treering.search.terms import terms

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LENGTH_POWER: Final = 0.5
"""How strongly a sentence's length counts against it: at 1 greetings win, at 0 monologues."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|\n+|(?<=[。！？])")

Count = Callable[[str], int]


def central_sentences(texts: Sequence[str], limit: int, count: Count) -> str:
    """The sentences of ``texts`` that cover most of them within ``limit`` tokens, in their order.

    Everything is kept if it fits. If not even one sentence fits, the best is cut after a word.
    ``count`` counts the tokens of a text.
    """
    sentences = list(dict.fromkeys(s for text in texts for s in _sentences(text)))
    lengths = np.array([count(sentence) for sentence in sentences], dtype=np.int64)
    if lengths.sum() <= limit:
        return " ".join(sentences)
    says, weights = _words(sentences)
    divisor = np.maximum(lengths, 1) ** LENGTH_POWER
    best_alone = int((says @ weights / divisor).argmax())
    chosen: list[int] = []
    while True:
        left = limit - int(lengths[chosen].sum())
        gains = np.where(lengths <= left, says @ weights / divisor, 0.0)
        index = int(gains.argmax())
        if gains[index] <= 0:
            break
        chosen.append(index)
        # The words of this sentence are said: another sentence gains nothing by them.
        weights[says.indices[says.indptr[index] : says.indptr[index + 1]]] = 0.0
    if not chosen:
        return _cut(sentences[best_alone], limit, count)
    return " ".join(sentences[index] for index in sorted(chosen))


def _sentences(text: str) -> list[str]:
    return [stripped for part in _SENTENCE_END.split(text) if (stripped := part.strip())]


def _words(sentences: Sequence[str]) -> tuple[csr_array, NDArray[np.float64]]:
    """Which words (columns) each sentence (row) has, and in how many sentences each word is."""
    with forks.importing():
        from scipy.sparse import csr_array  # here, as it takes long to import

    hashes = [terms(sentence)[:, 0] for sentence in sentences]
    ends = np.cumsum([0, *(len(row) for row in hashes)])
    words, columns = np.unique(np.concatenate(hashes), return_inverse=True)
    shape = (len(sentences), max(len(words), 1))
    says = csr_array((np.ones(len(columns)), columns, ends), shape=shape)
    return says, np.bincount(columns, minlength=shape[1]).astype(np.float64)


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
