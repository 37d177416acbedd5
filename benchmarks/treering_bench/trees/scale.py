"""Time to insert into a tree of growing size, without embedding and language model.

The vectors are a mixture of nested clusters, whose cosines are spread as those of real sentences.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treering.views.tree.settings import Settings, Threshold
from treering.views.tree.shape import ROOT, Tree
from treering_bench.perf.parts import mixture
from treering_bench.plots import legend_beside, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LAST = 500  # inserts that a figure is taken over
PROMISED_NODES, PROMISED_MS = 100_000, 1.0


@dataclass(frozen=True, slots=True)
class InsertFigure:
    """One size of the tree: ``depth`` of the last leaves, ``topics`` below the root."""

    nodes: int
    leaves: int
    topics: int
    depth: float
    p50_ms: float
    p99_ms: float
    ms_per_log2: float


HEAD = tuple(field.name for field in fields(InsertFigure))


def measure_inserts(to: int, dimension: int) -> Iterator[InsertFigure]:
    """A figure for 1,000 nodes, each doubling, 100,000 and ``to``."""
    tree = Tree(dimension, Settings(Threshold()))
    times: list[float] = []
    depths: list[int] = []
    due = sizes(to)
    for vector in mixture(dimension, seed=0):
        started = time.perf_counter()
        inserted = tree.insert(vector)
        times.append(1000 * (time.perf_counter() - started))
        depths.append(len(inserted.path) + 1)
        if len(tree) >= due[0]:
            yield _figure(tree, times[-LAST:], depths[-LAST:])
            del due[0]
            if not due:
                return


def _figure(tree: Tree, times: Sequence[float], depths: Sequence[int]) -> InsertFigure:
    median, high = np.percentile(times, [50, 99])
    return InsertFigure(
        nodes=len(tree),
        leaves=tree.leaf_count,
        topics=len(tree.children(ROOT)),
        depth=round(float(np.mean(depths)), 1),
        p50_ms=round(float(median), 4),
        p99_ms=round(float(high), 4),
        ms_per_log2=round(float(median) / math.log2(len(tree)), 5),
    )


def sizes(to: int) -> list[int]:
    """1,000 and its doublings, 100,000 and the last, ascending."""
    doubled = {1_000 * 2**power for power in range(1 + int(math.log2(max(to // 1_000, 1))))}
    return sorted(size for size in doubled | {PROMISED_NODES, to} if size <= to)


def cells(figure: InsertFigure) -> list[str]:
    """The row of a table."""
    return [str(value) for value in astuple(figure)]


def plot_inserts(figures: Sequence[InsertFigure], path: Path) -> None:
    """The medians over the sizes, both logarithmic, beside the growth that is promised.

    That is logarithmic, times the children of the root.
    """
    nodes = np.array([figure.nodes for figure in figures])
    topics = np.array([figure.topics for figure in figures])
    first = figures[0]
    logarithm = first.p50_ms * np.log2(nodes) / math.log2(first.nodes)

    def draw(axes: Axes) -> None:
        axes.plot(nodes, [figure.p50_ms for figure in figures], "o-", label="insert, p50")
        axes.plot(
            nodes, [figure.p99_ms for figure in figures], "--", color="0.6", label="insert, p99"
        )
        axes.plot(nodes, logarithm, ":", color="0.3", label="log2(nodes)")
        branching = logarithm * topics / first.topics
        label = "log2(nodes) · children of the root"
        axes.plot(nodes, branching, "-.", color="0.3", label=label)
        axes.plot([PROMISED_NODES], [PROMISED_MS], "rx", label="promised at most")
        axes.set(xscale="log", yscale="log", xlabel="nodes", ylabel="ms")
        legend_beside(axes)

    save("inserts into a tree", path, draw)
