"""Running a code benchmark: cut each body out, and see what every policy finds for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from treering.bench.coding.policy import CodePolicy
from treering.bench.coding.sources import Projects
from treering.bench.coding.task import CodeTask
from treering.bench.results import Measured, Results
from treering.bench.run import Progress
from treering.code.fragments import Unit
from treering.embed.contract import Embedder


def run_code(
    tasks: Iterable[CodeTask],
    sources: Path,
    policies: Sequence[CodePolicy],
    results: Results,
    embedder: Embedder,
    *,
    unit: Unit = "blocks",
    limit: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Measure every task with every policy; what ``results`` already holds is not done again."""
    dense = any(policy.embeds for policy in policies)
    projects = Projects(sources, unit, embedder if dense else None)
    chosen = list(islice(tasks, limit))
    for done, task in enumerate(chosen, 1):
        left = [p for p in policies if (p.name, task.project, task.id) not in results]
        if left:
            vector = embedder.embed([task.query], query=True)[0] if dense else None
            with projects.with_hole(task) as index:
                for policy in left:
                    metrics = policy.measure(index, task, vector)
                    results.add(
                        Measured(policy.name, task.project, task.id, task.category, metrics)
                    )
        if progress:
            progress(done, len(chosen), task.project)
