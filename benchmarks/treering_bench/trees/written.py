"""A tree whose summaries a model writes: its shape, and the cost of an insert (MemTree, table 5).

An offline tree beside it (RAPTOR) is built as a whole: the calls that this takes are those of every
update, which is MemTree's argument for inserting online (figure 5).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from treering.embed.contract import Embedder
from treering.llm.contract import LLM
from treering_bench.policy.raptor import summaries_of
from treering_bench.questions import remembered
from treering_bench.registry import Benchmark
from treering_bench.task import Document, Task


def written_tree(
    benchmark: Benchmark,
    path: Path,
    most: int,
    embedder: Embedder,
    preset: str | None,
    writer: LLM | None,
) -> dict[str, Any]:
    """The figures of the tree of a benchmark's first ``most`` pieces, grown as a preset says."""
    task = next(iter(benchmark.load(path)))
    first = replace(task, documents=tuple(_first(task, most)))
    with remembered(first, embedder, writer, preset) as space:
        space.remember()
        begun = time.monotonic()
        stats = space.tree_stats()
        seconds = time.monotonic() - begun
        rebuilt = len(summaries_of(space))
    names = ("nodes", "leaves", "topics", "max_depth", "branching", "made_by")
    return {
        **{name: getattr(stats, name) for name in names},
        "levels": [asdict(level) for level in stats.levels],
        "calls_per_insert": round(stats.calls_per_leaf, 3),
        "tokens_per_insert": round(stats.tokens_per_leaf, 1),
        "seconds_per_insert": round(seconds / max(stats.leaves, 1), 4),
        "calls_of_an_offline_tree": rebuilt,
    }


def _first(task: Task, most: int) -> Iterator[Document]:
    room = most
    for document in task.documents:
        if room > 0:
            yield replace(document, pieces=document.pieces[:room])
        room -= len(document.pieces)
