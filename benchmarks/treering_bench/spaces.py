"""Conversations in spaces of their own and in one space: how many turns of evidence are found.

``python -m treering_bench.spaces DATA [PLACES]`` takes LoCoMo's conversations at ``PLACES``, such
as ``0,1,2``. Each question is asked of all of them.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from treering.embed.registry import open_embedder
from treering.memory import Memory
from treering.records import Hit
from treering_bench.embedding import VectorCache
from treering_bench.suites.locomo import load
from treering_bench.task import Task

K = 10


def compare(tasks: Sequence[Task]) -> dict[str, float]:
    """Recall@10, in percent, by how the conversations are kept and merged."""
    embedder = VectorCache(open_embedder("minilm"), texts=True)
    recalls: dict[str, list[float]] = defaultdict(list)
    with TemporaryDirectory() as folder:
        url = Path(folder) / "spaces.db"
        apart = [Memory.open(url, space=task.space, embedder=embedder) for task in tasks]
        whole = Memory.open(url, space="whole", embedder=embedder)
        for memory, task in zip(apart, tasks, strict=True):
            for place in (memory, whole):
                _remember(place, task)
        names = [task.space for task in tasks]
        for task in tasks:
            for question in task.questions:
                evidence = {f"{task.space}/{unit}" for unit in question.evidence}
                if not evidence:
                    continue
                each = [hit for memory in apart for hit in memory.search(question.text, k=K)]
                ways = {
                    "one space": whole.search(question.text, k=K),
                    "spaces=": apart[0].search(question.text, k=K, spaces=names),
                    "scores of each space": sorted(each, key=lambda hit: -hit.score),
                    "confidences of each space": sorted(each, key=lambda hit: -hit.confidence),
                }
                for way, hits in ways.items():
                    recalls[way].append(_recall(hits[:K], evidence))
        for memory in (*apart, whole):
            memory.close()
    return {way: round(100 * fmean(values), 1) for way, values in recalls.items()}


def _remember(memory: Memory, task: Task) -> None:
    for document in task.documents:
        turns = [
            {
                "role": "user",
                "name": piece.speaker,
                "content": piece.text,
                "at": piece.at,
                "metadata": {"unit": f"{task.space}/{piece.unit}"},
            }
            for piece in document.pieces
        ]
        memory.add(turns, source=f"{task.space}/{document.source}", kind="chat")


def _recall(hits: Iterable[Hit], evidence: set[str]) -> float:
    return len({hit.metadata["unit"] for hit in hits} & evidence) / len(evidence)


def main(arguments: Sequence[str]) -> None:
    """Print the figures of some conversations."""
    tasks = list(load(Path(arguments[0])))
    places = arguments[1] if len(arguments) > 1 else "0,1,2"
    found = compare([tasks[int(place)] for place in places.split(",")])
    sys.stdout.write(f"{found}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
