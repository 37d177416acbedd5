"""Compressors by name."""

from __future__ import annotations

from collections.abc import Callable

from treering.errors import LLMNotConfigured, UnknownName
from treering.llm.contract import LLM, ReadingLLM
from treering.search.compression.contract import COMPRESSORS, Compressor
from treering.search.compression.surprisal import model_information
from treering.search.compression.words import WordCompressor, word_information


def open_compressor(chosen: str | Compressor, llm: Callable[[], LLM]) -> Compressor:
    """The compressor of that name, or the one given; ``llm`` gives the memory's model.

    Raises UnknownName, and LLMNotConfigured where the model cannot read a text for probabilities.
    """
    if not isinstance(chosen, str):
        return chosen
    if chosen == "words":
        return WordCompressor(word_information)
    if chosen != "model":
        raise UnknownName(f"no compressor {chosen!r}; there are {', '.join(COMPRESSORS)}")
    model = llm()
    if not isinstance(model, ReadingLLM):
        raise LLMNotConfigured(
            f"the model {model.model!r} tells no probabilities of a text; open the memory with a "
            "model in a file (llm='model.gguf'), or compress with compressor='words'"
        )
    return WordCompressor(model_information(model))
