"""The paper's structural findings on real text: depth by θ0, path lengths, merged calls, quality.

The trees are built from embeddings alone, or by the paper's route (``content``), with summaries
made extractively after every so many inserts. The paper pays a language model call for each node
of a path; ``merged`` is how many calls an insert are left when the summaries of several
inserts are made together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from treering.arrays import Floats
from treering.embed.contract import Embedder
from treering.errors import InputError
from treering.llm.tokens import estimate_tokens
from treering.text import with_speaker
from treering.views.choices import SUMMARY_TOKENS, SpaceSettings, TreeRoute
from treering.views.tree.aggregate import central_sentences
from treering.views.tree.shape import ROOT, Insertion, Tree
from treering_bench.registry import Benchmark
from treering_bench.trees.quality import apart, odd_one_out, otd_revenue, revenue, separation

BASES = (0.1, 0.4, 0.8)

HEAD = (
    *("corpus", "θ0", "route", "nodes", "topics", "depth 10/50/90 %", "max", "branching"),
    *("path/insert", "merged", "revenue/OTD", "apart", "β 5 %", "odd easy", "odd hard"),
)


def texts_of(benchmark: Benchmark, path: Path) -> Iterator[str]:
    """The texts of a benchmark's first memory, with their speakers."""
    for document in next(benchmark.load(path)).documents:
        for piece in document.pieces:
            yield with_speaker(piece.text, piece.speaker)


@dataclass(frozen=True, slots=True)
class TreeShape:
    """A grown tree in figures; see :data:`HEAD`."""

    corpus: str
    base: float
    route: TreeRoute
    nodes: int
    topics: int
    depths: tuple[float, float, float]
    max_depth: int
    branching: float
    path: float
    path_deviation: float
    merged: float
    revenue_of_otd: float
    apart: float
    separation: float
    odd_easy: float
    odd_hard: float

    def cells(self) -> list[str]:
        """The row of a table."""
        return [
            *(self.corpus, str(self.base), self.route, str(self.nodes), str(self.topics)),
            "/".join(f"{depth:.0f}" for depth in self.depths),
            *(str(self.max_depth), f"{self.branching:.2f}"),
            f"{self.path:.2f} ± {self.path_deviation:.2f}",
            *(
                f"{self.merged:.2f}",
                f"{self.revenue_of_otd:.3f}",
                f"{self.apart:.3f}",
                f"{self.separation:.3f}",
            ),
            *(f"{self.odd_easy:.3f}", f"{self.odd_hard:.3f}"),
        ]


def tree_shapes(
    benchmark: Benchmark,
    path: Path,
    most: int,
    embedder: Embedder,
    routes: Sequence[TreeRoute],
    every: int,
) -> Iterator[TreeShape]:
    """The shapes of the trees of a benchmark's texts, by θ0 and route.

    At most so many texts count; summaries are made after ``every`` inserts.
    """
    texts = list(islice(texts_of(benchmark, path), most))
    if len(texts) < 2:
        raise InputError(f"{path} holds {len(texts)} texts; a tree has a shape from two on")
    vectors = embedder.embed(texts)
    best = otd_revenue(vectors)
    for base in BASES:
        for route in routes:
            tree = Tree(embedder.dimension, SpaceSettings(tree_base=base, tree_route=route))
            merged, inserts = _grow(tree, texts, vectors, embedder, every)
            yield _shape_of(benchmark.name, base, tree, inserts, merged, best)


def _grow(
    tree: Tree, texts: Sequence[str], vectors: Floats, embedder: Embedder, every: int
) -> tuple[int, list[Insertion]]:
    """Insert all texts; return the numbers of summaries and of inserts."""
    text_of: dict[int, str] = {}
    inserts: list[Insertion] = []
    dirty: set[int] = set()
    summaries = 0
    for index, vector in enumerate(vectors):
        insert = tree.insert(vector)
        inserts.append(insert)
        text_of[insert.leaf] = texts[index]
        dirty.update(insert.path)
        if (index + 1) % every == 0 or index == len(vectors) - 1:
            summaries += len(dirty)
            if tree.settings.tree_route == "content" and dirty:
                deepest_first = sorted(dirty, key=tree.depth, reverse=True)
                _summarise(tree, text_of, deepest_first, embedder)
            dirty.clear()
    return summaries, inserts


def _summarise(
    tree: Tree, text_of: dict[int, str], nodes: Sequence[int], embedder: Embedder
) -> None:
    """Make summaries from the deepest up and let inserts follow them."""
    for node in nodes:
        below = [text_of[child] for child in tree.children(node)]
        text_of[node] = central_sentences(below, SUMMARY_TOKENS, estimate_tokens)
    vectors = embedder.embed([text_of[node] for node in nodes])
    for node, vector in zip(nodes, vectors, strict=True):
        tree.set_content(node, vector)


def _shape_of(
    corpus: str, base: float, tree: Tree, inserts: Sequence[Insertion], merged: int, best: float
) -> TreeShape:
    topics = len(tree.children(ROOT))
    low, middle, high = np.percentile(list(tree.depths().values()), [10, 50, 90])
    paths = [len(insert.path) for insert in inserts]
    odd = odd_one_out(tree)
    return TreeShape(
        corpus=corpus,
        base=base,
        route=tree.settings.tree_route,
        nodes=len(tree),
        topics=topics,
        depths=(float(low), float(middle), float(high)),
        max_depth=tree.deepest(),
        branching=(len(tree) - topics) / max(len(tree.summaries()), 1),
        path=float(np.mean(paths)),
        path_deviation=float(np.std(paths)),
        merged=merged / len(inserts),
        revenue_of_otd=revenue(tree) / best,
        apart=apart(tree),
        separation=separation(tree).low,
        odd_easy=odd.easy,
        odd_hard=odd.hard,
    )
