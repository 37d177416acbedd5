"""How long the code view takes: a first index, one changed file, a search, and Dijkstra instead.

The repository defaults to the standard library of the running Python without its tests. Best paths
by networkx are timed from a sample of the nodes that stand for fragments, once with the operator's
cut-off and once without (which eq. 8 by the letter needs), and scaled to all of them; nothing is
counted for multiplying what they find. All in seconds.
"""

from __future__ import annotations

import math
import random
import statistics
import sysconfig
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treering import Memory
from treering.errors import InputError
from treering.records import Skipped
from treering.views.code.graph.code_graph import CodeGraph
from treering.views.code.graph.operator import CUTOFF, CodeRelation
from treering.views.code.graph.trunk import Trunk
from treering.views.code.index.code_index import CodeIndex, index_file
from treering.views.code.parse.language import language_of
from treering.views.code.parse.source_files import SourceFile, scan

if TYPE_CHECKING:
    import networkx as nx

QUERIES = (
    "parse an ISO formatted date string",
    "open a file and read its lines lazily",
    "compress bytes with zlib",
    "send an HTTP request over a socket",
    "schedule a callback on the event loop",
)
FULL_SOURCES = 3
"""Best paths to the whole repository take seconds from each."""
LEFT_OUT = ("test/", "idlelib/", "lib2to3/")
"""Tests and test data of the standard library, where no repository is given."""


CLOCKS: dict[str, Callable[[], float]] = {
    "wall": time.perf_counter,
    "processor": time.process_time,
}
"""On a machine that others keep busy only the second tells what the work itself takes."""
Timed = Callable[[Callable[[], object]], float]


def took(clock: Callable[[], float], work: Callable[[], object]) -> float:
    """The seconds that ``work`` takes."""
    start = clock()
    work()
    return clock() - start


def copied(root: Path, to: Path, left_out: tuple[str, ...]) -> int:
    """Copy the source files of a repository; return their lines."""
    lines = 0
    for file in scan(root):
        if isinstance(file, Skipped) or file.path.startswith(left_out):
            continue
        if language_of(file.path):
            target = to / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
            lines += file.content.count(b"\n")
    return lines


def memory_times(repository: Path, file: Path, timed: Timed) -> dict[str, float]:
    """First index, one changed file, a search; in one process, and a search in a fresh one."""
    with Memory.open(file) as memory:
        first = timed(lambda: memory.code.index(repository))
        changed = sorted(repository.rglob("*.py"))[0]
        changed.write_text(changed.read_text() + "\n\ndef added_by_benchmark():\n    return 1\n")
        once = timed(lambda: memory.code.index(repository))
        memory.code.search(QUERIES[0])
        searches = [timed(lambda q=q: memory.code.search(q)) for q in QUERIES * 10]  # type: ignore[misc]
        mapped = timed(lambda: memory.code.map(budget=1000))
    with Memory.open(file) as memory:
        fresh = timed(lambda: memory.code.search(QUERIES[0]))
    return {
        "first index": first,
        "one changed file": once,
        "search p50": statistics.median(searches),
        "map": mapped,
        "first search of a process": fresh,
    }


def relation_times(repository: Path, sources: int, timed: Timed) -> dict[str, float]:
    """Building the operator and one product with it, against networkx' Dijkstra."""
    import networkx

    scanned = (file for file in scan(repository) if isinstance(file, SourceFile))
    files = {
        file.path: index_file(file.text, file.path, language_of(file.path), "blocks")
        for file in scanned
    }
    index = CodeIndex()
    index.update(files)
    trunks = {path: file.trunk for path, file in files.items()}
    relation = CodeRelation()
    build = timed(lambda: relation.update([], trunks, index.calls))
    operator = relation.operator()
    own = np.ones(len(index), dtype=np.float32)
    product = timed(lambda: operator.propagate(own))
    graph = as_networkx(relation.graph)
    nodes = covering(relation.graph, trunks)
    sample = random.Random(0).sample(nodes, min(sources, len(nodes)))
    far = -math.log(CUTOFF)
    search = networkx.single_source_dijkstra_path_length
    near = timed(lambda: [search(graph, node, cutoff=far, weight="far") for node in sample])
    full = timed(lambda: [search(graph, node, weight="far") for node in sample[:FULL_SOURCES]])
    near *= len(nodes) / len(sample)
    full *= len(nodes) / min(FULL_SOURCES, len(sample))
    return {
        "fragments": len(index),
        "graph nodes": len(relation.graph),
        "sources": len(nodes),
        "operator build": build,
        "operator product": product,
        "dijkstra to the cut-off, all sources": near,
        "times the operator, to the cut-off": near / (build + product),
        "dijkstra, all sources": full,
        "times the operator": full / (build + product),
    }


def covering(graph: CodeGraph, trunks: dict[str, Trunk]) -> list[int]:
    """The nodes that stand for fragments."""
    return [
        node
        for path, trunk in trunks.items()
        for node in np.unique(trunk.node + graph.offset[path]).tolist()
    ]


def as_networkx(graph: CodeGraph) -> nx.DiGraph[int]:
    """The code graph with −log of its weights."""
    import networkx

    paths: nx.DiGraph[int] = networkx.DiGraph()
    for node in range(1, len(graph)):
        above, far = int(graph.parent[node]), -math.log(graph.edge[node])
        paths.add_edge(node, above, far=far)
        paths.add_edge(above, node, far=far)
    for start, end, weight in zip(graph.start, graph.end, graph.weight, strict=True):
        paths.add_edge(int(start), int(end), far=-math.log(weight))
    return paths


def figures(root: Path | None, sources: int, clock: str) -> dict[str, float]:
    """Lines and seconds of the code view and of its relation, on a copy of a repository.

    ``root`` None is the standard library without its tests; ``sources`` are those that Dijkstra is
    timed from.
    """
    timed = partial(took, CLOCKS[clock])
    with tempfile.TemporaryDirectory(prefix="treering-bench-") as folder:
        repository = Path(folder) / "repository"
        left_out = () if root else LEFT_OUT
        lines = copied(root or Path(sysconfig.get_paths()["stdlib"]), repository, left_out)
        if not lines:
            raise InputError(f"{root} holds no code in a language that treering knows")
        times = memory_times(repository, Path(folder) / "memory.db", timed)
        times |= relation_times(repository, sources, timed)
    return {"lines": lines} | {name: round(value, 4) for name, value in times.items()}
