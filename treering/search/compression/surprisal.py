"""The information of words to a language model: how hard its tokens are to guess."""

from __future__ import annotations

from collections.abc import Sequence

from treering.llm.contract import ReadingLLM
from treering.search.compression.words import Information, words


def model_information(llm: ReadingLLM) -> Information:
    """The bits of words to ``llm``, each text read by itself: the sum over a word's tokens."""

    def information(texts: Sequence[str]) -> list[list[float]]:
        return [_bits(text, llm) for text in texts]

    return information


def _bits(text: str, llm: ReadingLLM) -> list[float]:
    places = words(text)
    bits = [0.0] * len(places)
    at = 0
    for token in llm.surprisals(text):
        while at < len(places) - 1 and places[at][1] < token.end:
            at += 1  # a token counts for the word that it ends in
        if places:
            bits[at] += token.bits
    return bits
