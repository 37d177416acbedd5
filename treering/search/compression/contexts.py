"""A context in fewer tokens: its passages shortened, its citations and marks as they were."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import ceil

from treering.errors import InputError, LLMNotConfigured, UnknownName
from treering.hints import Hint
from treering.llm.contract import LLM, ReadingLLM
from treering.records import Context, Hit, Passage
from treering.search.compression.contract import (
    COMPRESSORS,
    LEAST_RATE,
    CompressibleText,
    Compressor,
    Span,
)
from treering.search.compression.sentences import SentenceCompressor, surprisal
from treering.search.context import CountTokens, against, cited

TRIES = 3
"""How often a context is shortened again, and how often less is found, until it fits."""

LEAST_FIT = 0.7
"""If a context must be cut to less than this share of the rate, less is found instead."""

CLOSE = 0.98  # of the room that seems to be there: the next try should not be too long by a token


def open_compressor(chosen: str | Compressor, llm: Callable[[], LLM]) -> Compressor:
    """The compressor of that name, or the one given; ``llm`` gives the memory's model.

    Raises UnknownName, and LLMNotConfigured if the model cannot read a text for probabilities.
    """
    if not isinstance(chosen, str):
        return chosen
    if chosen == "sentences":
        return SentenceCompressor()
    if chosen != "model":
        raise UnknownName(
            f"no compressor {chosen!r}; there are {', '.join(COMPRESSORS)}", param="compressor"
        )
    model = llm()
    if not isinstance(model, ReadingLLM):
        raise LLMNotConfigured(
            f"the model {model.model!r} returns no probabilities of a text",
            hint=Hint.USE_LOCAL_LLM,
            param="compressor",
        )
    return SentenceCompressor(surprisal(model))


def compressed(
    find: Callable[[int], Context],
    compressor: Compressor,
    rate: float,
    budget: int,
    count: CountTokens,
) -> Context:
    """The widest context that ``find`` finds and that fits ``budget`` in ``rate`` of its tokens.

    It is shortened only as far as the budget needs; a context that fits is not cut. Citations and
    code stay as they are. Empty passages are dropped. Where citations and code need so much that
    the rest would have to go far below ``rate``, or no sentence fits, less is found.
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
    share = (budget - _cites(context)) / max(context.tokens - _cites(context), 1)
    best: Context | None = None
    for _ in range(TRIES):
        if share < LEAST_FIT * rate:
            break
        shown = _shortened(context, compressor, min(max(share, LEAST_RATE), 1.0), count)
        if not shown.passages:
            break
        if shown.tokens <= budget and (best is None or shown.tokens > best.tokens):
            best = shown
        if CLOSE * budget <= shown.tokens <= budget:
            break
        # Passages that were dropped leave the tokens of their citations to the others.
        cites = _cites(shown)
        share *= CLOSE * (budget - cites) / max(shown.tokens - cites, 1)
    return best


def _cites(context: Context) -> int:
    """The tokens of a context that are no passage's."""
    return context.tokens - sum(passage.tokens for passage in context.passages)


def _shortened(
    context: Context, compressor: Compressor, rate: float, count: CountTokens
) -> Context:
    hits = sorted((hit for passage in context.passages for hit in passage.hits), key=_score)
    ranks = {id(hit): rank for rank, hit in enumerate(hits)}
    texts = [_compressible(passage, ranks) for passage in context.passages]
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


def _score(hit: Hit) -> float:
    return -hit.score


def _compressible(passage: Passage, ranks: dict[int, int]) -> CompressibleText:
    if any(hit.kind == "code" for hit in passage.hits):
        return CompressibleText(passage.text, fixed=((0, len(passage.text)),))
    marks = {against(hit) for hit in passage.hits}
    speakers = {hit.speaker for hit in passage.hits if hit.speaker}
    fixed = [span for mark in marks for span in _places(re.escape(mark), passage.text)]
    labels = [
        span for speaker in speakers for span in _places(rf"^{re.escape(speaker)}: ", passage.text)
    ]
    return CompressibleText(passage.text, tuple(fixed), tuple(labels), _stands(passage, ranks))


def _stands(passage: Passage, ranks: dict[int, int]) -> tuple[tuple[Span, int], ...]:
    """The spans of the hits of a passage in its text, each with its place in the ranking."""
    stands: list[tuple[Span, int]] = []
    behind = 0
    before: Hit | None = None
    for hit in sorted(passage.hits, key=_place):
        # Of a hit that overlaps the one before it only the rest is shown.
        overlaps = before is not None and before.entry_id == hit.entry_id
        shown = hit.text[max(before.end - hit.start, 0) :] if before and overlaps else hit.text
        start = passage.text.find(shown.strip("\n"), behind)
        if start >= 0:
            behind = start + len(shown.strip("\n"))
            stands.append(((start, behind), ranks[id(hit)]))
        before = hit
    return tuple(stands)


def _places(pattern: str, text: str) -> list[Span]:
    return [match.span() for match in re.finditer(pattern, text, re.MULTILINE) if match[0]]
