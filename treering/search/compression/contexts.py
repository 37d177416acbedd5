"""A context in fewer tokens: its passages shortened, its citations and marks as they were."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import ceil

from treering.errors import InputError
from treering.records import Context, Hit, Passage
from treering.search.compression.contract import (
    LEAST_RATE,
    CompressibleText,
    Compressor,
    Span,
)
from treering.search.context import CountTokens, against, cited

TRIES = 3
"""How often a context is shortened anew, and how often less is found, until it fits."""

LEAST_FIT = 0.7
"""A context is not cut to less than this share of the rate: then less is found."""

CLOSE = 0.98  # of what seems to fit: a next try should not be too long by a token


def compressed(
    find: Callable[[int], Context],
    compressor: Compressor,
    rate: float,
    budget: int,
    count: CountTokens,
) -> Context:
    """The widest context that ``find`` finds and that fits ``budget`` in ``rate`` of its tokens.

    It is shortened as far as it must be, not to ``rate``: what fits whole stays whole. Citations
    and code stay as they are, since half of a program is none. Passages of which nothing is left
    are dropped. Where citations, numbers and code need so much that the rest would have to go far
    below ``rate``, less is found.
    """
    room = ceil(budget / rate)
    for _ in range(TRIES):
        context = find(room)
        if context.tokens <= budget:
            return replace(context, budget=budget)
        shown = _fitted(context, compressor, rate, budget, count)
        if shown is not None:
            return replace(shown, budget=budget)
        # The room in which the texts would need just this rate, if that is less than half way.
        just = budget / (rate + (1 - rate) * _cites(context) / context.tokens)
        room = min(ceil(just), (room + budget) // 2)
    return find(budget)


def _fitted(
    context: Context, compressor: Compressor, rate: float, budget: int, count: CountTokens
) -> Context | None:
    """The context shortened to the budget, or None where it cannot be without losing too much."""
    room = budget - _cites(context)
    share = room / max(context.tokens - _cites(context), 1)
    for _ in range(TRIES):
        if share < LEAST_FIT * rate:
            return None
        shown = _shortened(context, compressor, max(share, LEAST_RATE), count)
        if shown.tokens <= budget:
            return shown if shown.passages else None
        share *= CLOSE * room / (shown.tokens - _cites(shown))
    return None


def _cites(context: Context) -> int:
    """The tokens of a context that are no passage's."""
    return context.tokens - sum(passage.tokens for passage in context.passages)


def _shortened(
    context: Context, compressor: Compressor, rate: float, count: CountTokens
) -> Context:
    texts = [_compressible(passage) for passage in context.passages]
    shortened = compressor.compress(texts, context.query, rate)
    if len(shortened) != len(texts):
        raise InputError(
            f"{type(compressor).__name__} made {len(shortened)} texts of {len(texts)} passages; a "
            "compressor returns one for each, in their order"
        )
    left = [
        (passage, text) for passage, text in zip(context.passages, shortened, strict=True) if text
    ]
    passages = tuple(
        replace(passage, number=number, text=text, tokens=count(text))
        for number, (passage, text) in enumerate(left, start=1)
    )
    shown = "\n\n".join(
        cited(passage.number, min(passage.hits, key=_place), passage.text) for passage in passages
    )
    return replace(context, passages=passages, text=shown, tokens=count(shown))


def _place(hit: Hit) -> tuple[int, int]:
    return hit.position, hit.start


def _compressible(passage: Passage) -> CompressibleText:
    if any(hit.kind == "code" for hit in passage.hits):
        return CompressibleText(passage.text, fixed=((0, len(passage.text)),))
    marks = {against(hit) for hit in passage.hits}
    speakers = {hit.speaker for hit in passage.hits if hit.speaker}
    fixed = [span for mark in marks for span in _places(re.escape(mark), passage.text)]
    labels = [
        span for speaker in speakers for span in _places(rf"^{re.escape(speaker)}: ", passage.text)
    ]
    return CompressibleText(passage.text, tuple(fixed), tuple(labels))


def _places(pattern: str, text: str) -> list[Span]:
    return [match.span() for match in re.finditer(pattern, text, re.MULTILINE) if match[0]]
