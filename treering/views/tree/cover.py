"""Mixing altitudes: a summary or its leaves, never both, whichever covers more.

The question makes some leaves relevant. A leaf covers itself. A summary covers of each leaf below
it the share of the leaf's words that it holds. Coverage is ``Σ_leaves relevance · best share of a
node shown``.

It begins with what a context without summaries shows, the best texts that fit. A summary takes the
place of leaves below it, and of the least relevant texts beside these, only if more is covered
then. So a narrow question, whose answer stands in the first texts, gets these: where no summary
covers more, the context is the one without summaries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Above = Mapping[int, Sequence[int]]
"""The summaries above each leaf."""


LEAST_GAIN: Final = 1.1
"""How much more must be covered with a summary. That a text is relevant is itself uncertain: where
any gain was enough, extractive summaries cost 80 questions about a chat 2.5 points of the answers'
words in 200 tokens where they were narrow, and 0.8 where they were broad."""


@dataclass(frozen=True, slots=True)
class CoverCandidates:
    """Relevant leaves and the summaries above them; n nodes, of which the first m are leaves.

    ``agreement``, shape (n, m), says how far a node covers a leaf. ``tokens``, shape (n,), is the
    cost of showing a node, at least 1. ``relevance``, shape (m,), is not negative. ``relatives``,
    shape (n, n), marks pairs that are never shown together: a node and those above it, and a node
    and itself.
    """

    nodes: Sequence[int]
    tokens: NDArray[np.int64]
    agreement: Floats
    relevance: Floats
    relatives: NDArray[np.bool_]


def candidates(
    relevance: Mapping[int, float],
    above: Above,
    tokens: Mapping[int, int],
    words: Mapping[int, Set[int]],
) -> CoverCandidates:
    """The relevant leaves, most relevant first, and every summary above them.

    ``tokens`` and ``words`` (the terms of a node's text) hold a value for each of these nodes.
    """
    leaves = list(relevance)
    summaries = sorted({node for leaf in leaves for node in above[leaf]})
    nodes = [*leaves, *summaries]
    row = {node: index for index, node in enumerate(nodes)}
    agreement = np.zeros((len(nodes), len(leaves)))
    agreement[: len(leaves)] = np.eye(len(leaves))
    below = np.eye(len(nodes), len(leaves), dtype=np.bool_)
    for column, leaf in enumerate(leaves):
        for node in above[leaf]:
            agreement[row[node], column] = share(words[leaf], words[node])
            below[row[node], column] = True
    return CoverCandidates(
        nodes,
        np.array([max(tokens[node], 1) for node in nodes], dtype=np.int64),
        agreement,
        np.array([relevance[leaf] for leaf in leaves]),
        # In a tree two nodes have a leaf in common only if one is above the other.
        (below.astype(np.float32) @ below.T.astype(np.float32)) > 0,
    )


def cover(options: CoverCandidates, budget: int, least: float = 0.0) -> list[int]:
    """The nodes to show within ``budget`` tokens; leaves alone where no summary covers more.

    ``least`` is what is covered without summaries where no leaf fits as a whole: a context
    without summaries shows the beginning of the best one then.
    """
    taken: list[int] = []
    left = budget
    for row in range(len(options.relevance)):  # most relevant first
        if options.tokens[row] <= left:
            taken.append(row)
            left -= int(options.tokens[row])
    covered = _covered(options, taken) if taken else least
    waiting = list(range(len(options.relevance), len(options.nodes)))
    while waiting:
        # Of all summaries the one with which most is covered; then again, with what is shown now.
        exchanges = [_exchanged(options, taken, row, budget) for row in waiting]
        totals = [_covered(options, exchange) if exchange else 0.0 for exchange in exchanges]
        best = int(np.argmax(totals))
        if totals[best] <= covered * LEAST_GAIN:
            break
        taken, covered = exchanges[best], totals[best]
        waiting = [row for row in waiting if row not in taken]
    return [options.nodes[row] for row in taken]


def _exchanged(
    options: CoverCandidates, taken: Sequence[int], summary: int, budget: int
) -> list[int]:
    """What is shown with a summary in the place of its relatives, the best of the rest kept.

    Empty if the summary alone does not fit.
    """
    left = budget - int(options.tokens[summary])
    if left < 0:
        return []
    shown = [summary]
    rest = [row for row in taken if not options.relatives[summary, row]]
    for row in sorted(rest, key=lambda row: row < len(options.relevance)):  # summaries stay
        if options.tokens[row] <= left:
            shown.append(row)
            left -= int(options.tokens[row])
    return shown


def _covered(options: CoverCandidates, taken: Sequence[int]) -> float:
    """How much is covered in all."""
    best = options.agreement[list(taken)].max(axis=0, initial=0.0)
    return float(best @ options.relevance)


def share(of: Set[int], among: Set[int]) -> float:
    """The share of some words that is among others."""
    return len(of & among) / len(of) if of else 0.0
