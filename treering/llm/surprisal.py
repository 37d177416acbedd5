"""How hard the tokens of a text are to guess, asked of llama.cpp's server.

The server tells the probabilities of tokens that it writes, not of those that it reads. So it is
made to write each token of the text behind those before it. It keeps what it has read, so that each
costs what a written token costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from treering.llm.contract import TokenSurprisal

Post = Callable[[str, Mapping[str, Any]], Any]
"""Sends a body to an address of the server, and returns what it answers."""

_FORCED = 1e6
"""Added to the score of the token to be written. The probability told is that without it."""


def surprisals(post: Post, window: int, text: str) -> list[TokenSurprisal]:
    """The surprisals of the tokens of ``text``, of a model that reads ``window`` tokens.

    A longer text is read in parts, each begun anew.
    """
    ids, ends = _tokens(post, text)
    # Something must stand before the first token; with it comes the mark that begins a text.
    before = post("/tokenize", {"content": "\n", "add_special": True})["tokens"]
    most = max(window - len(before) - 1, 1)
    starts = [0, *ends][: len(ends)]
    return [
        TokenSurprisal(start, end, _bits(post, [*before, *ids[at - at % most : at]], ids[at]))
        for at, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


def _tokens(post: Post, text: str) -> tuple[list[int], list[int]]:
    """The tokens of a text, and the character behind which each of them ends."""
    how = {"add_special": False, "parse_special": False, "with_pieces": True}
    tokens = post("/tokenize", {"content": text, **how})["tokens"]
    # A piece that ends inside a character comes as bytes.
    sizes = [len(p.encode() if isinstance(p := token["piece"], str) else p) for token in tokens]
    behind = [0, *(at for at, letter in enumerate(text, start=1) for _ in letter.encode())]
    added = max(sum(sizes) - len(behind) + 1, 0)  # some tokenizers put a space before a text
    ends = [behind[min(max(size - added, 0), len(behind) - 1)] for size in accumulate(sizes)]
    return [token["id"] for token in tokens], ends


def _bits(post: Post, before: Sequence[int], token: int) -> float:
    """The surprisal of a token; 0 where it ends inside a character, of which nothing is told."""
    how = {"n_predict": 1, "n_probs": 1, "temperature": 0.0, "cache_prompt": True}
    written = post("/completion", {"prompt": before, "logit_bias": [[token, _FORCED]], **how})
    probabilities = written.get("completion_probabilities")
    return -float(probabilities[0]["logprob"]) / math.log(2) if probabilities else 0.0
