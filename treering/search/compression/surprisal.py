"""The information of words to a language model: how hard its tokens are to guess."""

from __future__ import annotations

from collections.abc import Sequence

from treering.llm.contract import ReadingLLM
from treering.search.compression.words import Information, words


def model_information(llm: ReadingLLM) -> Information:
    """The bits of words to ``llm``, each text read by itself: the sum over a word's tokens.

    What was read once is not read again: a context is shortened at several rates until it fits.
    """
    bits_of: dict[str, list[float]] = {}

    def information(texts: Sequence[str]) -> list[list[float]]:
        for text in texts:
            if text not in bits_of:
                bits_of[text] = _word_bits(text, llm)
        return [bits_of[text] for text in texts]

    return information


def _word_bits(text: str, llm: ReadingLLM) -> list[float]:
    places = words(text)
    bits = [0.0] * len(places)
    at = 0
    for token in llm.surprisals(text):
        while at < len(places) - 1 and places[at][1] < token.end:
            at += 1  # a token counts for the word that it ends in
        if places:
            bits[at] += token.bits
    return bits
