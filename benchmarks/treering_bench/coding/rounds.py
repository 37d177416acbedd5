"""Compares what the context memory holds in the rounds of a dialogue with gold dependencies.

No model is asked: the code that a round ends with is the true one, so what is measured is judge,
retrieval and selector, not a model that might forget to call what it was shown (CodeMEM, figure 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from treering.records import Why
from treering.views.code.index.blocks import CodeBlock, best_blocks
from treering.views.code.index.code_index import CodeHit, CodeIndex
from treering.views.code.write.context_memory import ContextMemory, NameJudge
from treering_bench.coding.task import CodeTask

DOCUMENTS = 5
"""What ADD looks up (CodeMEM, 4.2)."""


def held_by_round(index: CodeIndex, task: CodeTask, *, selects: bool) -> dict[str, float]:
    """Recall and precision of the blocks at hand in every round, and their means over rounds.

    Without ``selects`` nothing is ever dropped: what the paper compares its selector with.
    """
    names = {definition.name for _, definition in index.definitions()}
    context = ContextMemory(
        lambda query: best_blocks(index, query, DOCUMENTS), NameJudge(names.__contains__)
    )
    figures: dict[str, list[float]] = {"context recall": [], "context precision": []}
    for instruction in task.instructions:
        context.begin(instruction)
        hits = as_hits(context.blocks)
        figures["context recall"].append(task.target.found(hits))
        figures["context precision"].append(task.target.precision(hits))
        if selects:
            context.end(task.code, "python")
    means = {name: fmean(values) for name, values in figures.items()}
    by_round = {
        f"{name}, round {round_}": value
        for name, values in figures.items()
        for round_, value in enumerate(values, 1)
    }
    return means | by_round


def as_hits(blocks: Sequence[CodeBlock]) -> list[CodeHit]:
    """Blocks as hits, so that blocks and hits are compared alike."""
    return [
        CodeHit(
            0.0,
            block.path,
            block.first_line,
            block.last_line,
            block.qualified,
            block.value,
            Why({}),
        )
        for block in blocks
    ]
