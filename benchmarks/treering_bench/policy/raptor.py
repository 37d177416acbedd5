"""A tree of summaries built offline in the manner of RAPTOR (Sarthi et al. 2024).

All vectors are clustered, each cluster is summarised, and the same is done with the summaries until
one is left; a search ranks the nodes of all levels by cosine (RAPTOR's collapsed tree). RAPTOR
clusters softly by Gaussian mixtures on reduced vectors; k-means with its clusters' usual size
stands in for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.cluster.vq import kmeans2

from treering.arrays import Floats
from treering.views.choices import SUMMARY_TOKENS
from treering.views.tree.aggregate import central_sentences
from treering_bench.metrics.evidence import RetrievedPassage
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.space import ScoredPassage, TaskSpace
from treering_bench.task import TaskQuestion

CLUSTER = 7  # texts a cluster, as RAPTOR's trees have

Summarise = Callable[[Sequence[Sequence[str]]], Sequence[str]]
"""From the texts of each cluster to one summary each."""


@dataclass(frozen=True, slots=True)
class RaptorLevel:
    """Summaries of one height with their vectors, and the texts at the bottom of each."""

    texts: tuple[str, ...]
    vectors: Floats
    leaves: tuple[tuple[int, ...], ...]


def build(
    texts: Sequence[str], vectors: Floats, summarise: Summarise, embed: Callable[..., Floats]
) -> list[RaptorLevel]:
    """The levels of a tree, ``texts`` first; each level has a seventh of the one below."""
    levels = [RaptorLevel(tuple(texts), vectors, tuple((n,) for n in range(len(texts))))]
    while len(levels[-1].texts) > 1:
        below = levels[-1]
        groups = _clusters(below.vectors)
        summaries = tuple(summarise([[below.texts[n] for n in group] for group in groups]))
        leaves = tuple(tuple(x for n in group for x in below.leaves[n]) for group in groups)
        levels.append(RaptorLevel(summaries, embed(summaries), leaves))
    return levels


def extractive(groups: Sequence[Sequence[str]], count: Callable[[str], int]) -> list[str]:
    """Summaries without a model: the most central sentences of each group."""
    return [central_sentences(group, SUMMARY_TOKENS, count) for group in groups]


def raptor() -> RetrievalPolicy:
    """Collapsed search over a tree with extractive summaries, built when a space is first asked.

    A summary counts as evidence found for the texts that it quotes whole.
    """

    def pick(space: TaskSpace, question: TaskQuestion) -> Sequence[RetrievedPassage]:
        fragments = space.scored(question)
        passages, vectors = space.once("raptor", lambda _: _nodes(space, fragments))
        [query] = space.embedder.embed([question.text], query=True)
        order = np.argsort(-(vectors @ query), kind="stable")[: space.most]
        return [passages[place] for place in order]

    return RetrievalPolicy("raptor", pick)


def summaries_of(space: TaskSpace) -> list[str]:
    """All summaries of an offline tree of a space."""
    texts = [fragment.embedded for fragment in space.scored(TaskQuestion("", "?"))]
    return [text for level in _tree(space, texts)[1:] for text in level.texts]


def _tree(space: TaskSpace, texts: Sequence[str]) -> list[RaptorLevel]:
    return build(
        texts,
        space.embedder.embed(texts),
        lambda groups: extractive(groups, space.count),
        space.embedder.embed,
    )


def _nodes(
    space: TaskSpace, fragments: Sequence[ScoredPassage]
) -> tuple[list[RetrievedPassage], Floats]:
    texts = [fragment.embedded for fragment in fragments]
    tree = _tree(space, texts)
    passages = [fragment.passage for fragment in fragments]
    for level in tree[1:]:
        for summary, leaves in zip(level.texts, level.leaves, strict=True):
            below = [fragments[n].passage for n in leaves]
            quoted = [fragments[n].passage for n in leaves if texts[n] in summary]
            place = min(passage.place for passage in below)
            cost = space.count(summary)
            passages.append(RetrievedPassage(_units(quoted), cost, summary, place, _units(below)))
    vectors = np.concatenate([level.vectors for level in tree])
    return passages, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _clusters(vectors: Floats) -> list[list[int]]:
    count = max(len(vectors) // CLUSTER, 1)
    _, label = kmeans2(vectors.astype(np.float64), count, minit="++", seed=0)
    groups = (np.flatnonzero(label == cluster).tolist() for cluster in np.unique(label))
    return list(groups)


def _units(passages: Iterable[RetrievedPassage]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(unit for passage in passages for unit in passage.units))
