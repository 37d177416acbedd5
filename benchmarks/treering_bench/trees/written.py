"""A tree whose summaries a model writes: its shape, and the cost of an insert (MemTree, table 5).

An offline tree beside it (RAPTOR) is built as a whole: the calls that this takes are those of every
update, which is MemTree's argument for inserting online (figure 5).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from treering.embed.contract import Embedder
from treering.llm.contract import LLM
from treering.llm.tokens import estimate_tokens
from treering.views.tree.node import TreeNode
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
        nodes, spent = space.grown_tree()
        seconds = time.monotonic() - begun
        rebuilt = len(summaries_of(space))
    by_depth: dict[int, list[TreeNode]] = {}
    for node in nodes:
        by_depth.setdefault(node.depth, []).append(node)
    leaves, topics = sum(node.leaf for node in nodes), len(by_depth.get(1, ()))
    tokens = sum(cost.prompt_tokens + cost.completion_tokens for cost in spent)
    return {
        "nodes": len(nodes),
        "leaves": leaves,
        "topics": topics,
        "max_depth": max(by_depth, default=0),
        "branching": (len(nodes) - topics) / max(len(nodes) - leaves, 1),
        "made_by": dict(Counter(node.made_by for node in nodes if node.made_by)),
        "levels": [_level(depth, by_depth[depth]) for depth in sorted(by_depth)],
        "calls_per_insert": round(sum(cost.calls for cost in spent) / max(leaves, 1), 3),
        "tokens_per_insert": round(tokens / max(leaves, 1), 1),
        "seconds_per_insert": round(seconds / max(leaves, 1), 4),
        "calls_of_an_offline_tree": rebuilt,
    }


def _level(depth: int, nodes: list[TreeNode]) -> dict[str, Any]:
    leaves = sum(node.leaf for node in nodes)
    tokens = median(estimate_tokens(node.text) for node in nodes)
    return {"depth": depth, "leaves": leaves, "summaries": len(nodes) - leaves, "tokens": tokens}


def _first(task: Task, most: int) -> Iterator[Document]:
    room = most
    for document in task.documents:
        if room > 0:
            yield replace(document, pieces=document.pieces[:room])
        room -= len(document.pieces)
