"""What compression keeps (MemTree, A.3.9): the words of the evidence and of the answers.

A context of so many tokens is compressed at several rates. Beside each stands a context that has as
few tokens from the start: compression is worth its price where it keeps more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treering.embed.contract import Embedder
from treering.errors import InputError
from treering.llm.contract import ReadingLLM
from treering.search.compression.contract import Compressor
from treering.search.compression.sentences import SentenceCompressor, surprisal
from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.report import table
from treering_bench.run import Progress, drawn, limited, remembered
from treering_bench.space import TaskSpace
from treering_bench.stats import paired_difference
from treering_bench.task import Task, TaskQuestion
from treering_bench.trees.words import word_recall

RATES = tuple(tenths / 10 for tenths in range(1, 10))
FEWER = "fewer passages"
WHOLE = "whole"
KEPT = ("evidence", "answer")

Shown = Callable[[TaskSpace, TaskQuestion, float], RetrievedPassage]


@dataclass(frozen=True, slots=True)
class CompressionOptions:
    """``budget`` are the tokens of a context before it is compressed, ``sample`` the questions."""

    budget: int
    rates: tuple[float, ...]
    sample: int
    seed: int


KeptShares = dict[tuple[str, float], list[dict[str, float]]]
"""What each question's context keeps, by way and rate."""


def ways(budget: int, model: ReadingLLM | None) -> dict[str, Shown]:
    """The ways to have fewer tokens, by name."""
    compressors: dict[str, Compressor] = {"sentences": SentenceCompressor()}
    if model is not None:
        compressors[model.model] = SentenceCompressor(surprisal(model))

    def fewer(space: TaskSpace, question: TaskQuestion, rate: float) -> RetrievedPassage:
        return space.context(question, round(rate * budget))

    def by(compressor: Compressor) -> Shown:
        return lambda space, question, rate: space.context(
            question, round(rate * budget), compress=rate, compressor=compressor
        )

    return {FEWER: fewer} | {name: by(compressor) for name, compressor in compressors.items()}


def kept_words(
    tasks: Callable[[], Iterable[Task]],
    options: CompressionOptions,
    embedder: Embedder,
    model: ReadingLLM | None,
    progress: Progress,
) -> KeptShares:
    """What is kept of each question's evidence and answers. Raises InputError if none counts."""
    chosen = drawn(tasks(), _counts, options.sample, options.seed)
    shown = ways(options.budget, model)
    shares: KeptShares = defaultdict(list)
    done = 0
    for task in limited(tasks(), chosen, None):
        with remembered(task, embedder, None, None, None, 0, 0) as space:
            for question in task.questions:
                whole = space.context(question, options.budget)
                shares[WHOLE, 1.0].append(_kept(space, question, whole))
                for way, show in shown.items():
                    for rate in options.rates:
                        passage = show(space, question, rate)
                        shares[way, rate].append(_kept(space, question, passage))
                done += 1
                progress(done, options.sample, task.space)
    if not done:
        raise InputError("no question has both evidence and an answer; take another benchmark")
    return shares


def _counts(question: TaskQuestion) -> bool:
    return question.answerable and bool(question.evidence) and bool(question.answers)


def _kept(space: TaskSpace, question: TaskQuestion, passage: RetrievedPassage) -> dict[str, float]:
    pieces = (piece for document in space.task.documents for piece in document.pieces)
    gold = [piece.text for piece in pieces if piece.unit in question.evidence]
    return {
        "evidence": word_recall(passage.text, [" ".join(gold)]),
        "answer": word_recall(passage.text, question.answers),
        "tokens": float(passage.tokens),
    }


def kept_figures(shares: KeptShares) -> list[dict[str, Any]]:
    """The means by way and rate: shares of words, and tokens."""
    return [
        {"way": way, "rate": rate, "questions": len(rows)}
        | {name: round(_mean([row[name] for row in rows]), 4) for name in (*KEPT, "tokens")}
        for (way, rate), rows in shares.items()
    ]


def kept_table(shares: KeptShares) -> str:
    """A Markdown table in percent: a row a rate, each way beside fewer passages.

    A share is marked as in an overview: ``▲`` above that of fewer passages, ``=`` no difference.
    """
    compressed = list(dict.fromkeys(way for way, _ in shares if way not in (FEWER, WHOLE)))
    head = ["rate", *(f"{name}: {way}" for name in KEPT for way in (FEWER, *compressed))]
    [whole] = [rows for (way, _), rows in shares.items() if way == WHOLE]
    rows = [["1", *(_percent(whole, name) for name in KEPT for _ in range(1 + len(compressed)))]]
    for rate in sorted({rate for way, rate in shares if way == FEWER}, reverse=True):
        cells = [
            _percent(shares[way, rate], name) + _mark(shares[way, rate], shares[FEWER, rate], name)
            for name in KEPT
            for way in (FEWER, *compressed)
        ]
        rows.append([f"{rate:g}", *cells])
    return table(head, rows)


def _mean(values: Sequence[float]) -> float:
    return float(np.nanmean(values))


def _percent(rows: Sequence[dict[str, float]], name: str) -> str:
    return f"{100 * _mean([row[name] for row in rows]):.1f}"


def _mark(new: Sequence[dict[str, float]], old: Sequence[dict[str, float]], name: str) -> str:
    if new is old:
        return ""
    pairs = [(a[name], b[name]) for a, b in zip(new, old, strict=True) if np.isfinite(b[name])]
    gap = paired_difference([a for a, _ in pairs], [b for _, b in pairs])
    return {"better": " ▲", "no difference": " ="}.get(gap.verdict, "")
