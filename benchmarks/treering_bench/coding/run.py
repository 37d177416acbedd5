"""Running a code benchmark: cut each body out, and see what every policy finds for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from treering.embed.contract import Embedder
from treering_bench.coding.policy import CodePolicy
from treering_bench.coding.sources import Projects
from treering_bench.coding.task import CodeTask
from treering_bench.results import QuestionResult, Results
from treering_bench.run import Progress


def run_code(
    tasks: Iterable[CodeTask],
    sources: Path,
    policies: Sequence[CodePolicy],
    results: Results,
    embedder: Embedder,
    *,
    limit: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Measure every task with every policy, except for what ``results`` already holds."""
    chosen = list(islice(tasks, limit))
    for unit in dict.fromkeys(policy.unit for policy in policies):
        of_unit = [policy for policy in policies if policy.unit == unit]
        dense = any(policy.embeds for policy in of_unit)
        projects = Projects(sources, unit, embedder if dense else None)
        for done, task in enumerate(chosen, 1):
            left = [
                policy
                for policy in of_unit
                if policy.suits(task) and (policy.name, task.project, task.id) not in results
            ]
            if left:
                _measure(task, left, projects, results, embedder if dense else None)
            if progress:
                progress(done, len(chosen), f"{task.project} in {unit}")


def _measure(
    task: CodeTask,
    policies: Sequence[CodePolicy],
    projects: Projects,
    results: Results,
    embedder: Embedder | None,
) -> None:
    vector = embedder.embed([task.query], query=True)[0] if embedder else None
    with projects.with_hole(task) as index:
        for policy in policies:
            metrics = policy.measure(index, task, vector)
            results.add(QuestionResult(policy.name, task.project, task.id, task.category, metrics))
