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

LOWER = (0.85, 0.7)
"""Shares of a rate that are tried where a context stays too long."""


def compressed(
    find: Callable[[int], Context],
    compressor: Compressor,
    rate: float,
    budget: int,
    count: CountTokens,
) -> Context:
    """A context of ``budget / rate`` tokens, which ``find`` finds, shortened to ``budget``.

    Code stays as it is: half of a program is none. Passages of which nothing is left are dropped.
    Where numbers and code need so much that the whole stays too long, less is found.
    """
    widest = ceil(budget / rate)
    for room in (widest, (widest + budget) // 2, budget):
        context = find(room)
        for share in (1.0, *LOWER):
            shown = _shortened(context, compressor, share * _rate(context, rate, budget), count)
            if shown.tokens <= budget:
                return replace(shown, budget=budget)
    return context  # only a counter that counts more for less text comes here


def _rate(context: Context, rate: float, budget: int) -> float:
    """The rate for the passages themselves; their citations take their part of the budget."""
    texts = sum(passage.tokens for passage in context.passages)
    cites = context.tokens - texts
    fitting = (budget - cites) / texts if texts else rate
    return min(rate, max(fitting, LEAST_RATE))


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
