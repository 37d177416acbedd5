"""How long the code view takes: a first index, one changed file, a search, and Dijkstra instead.

    python benchmarks/code_speed.py [ROOT] [--sources 20] [--clock processor]

ROOT defaults to the standard library of the running Python without its tests. Best paths by
networkx are timed from a sample of the nodes that stand for fragments, once with the operator's
cut-off and once without (which eq. 8 by the letter needs), and scaled to all of them; nothing is
counted for multiplying what they find. Seconds; prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sysconfig
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np

from treering import Memory
from treering.code.graph.code_graph import CodeGraph
from treering.code.graph.operator import CUTOFF, CodeRelation
from treering.code.graph.trunk import Trunk
from treering.code.index.code_index import CodeIndex, index_file
from treering.code.parse.language import language_of
from treering.code.parse.source_files import SourceFile, scan
from treering.records import Skipped

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
"""Tests and test data of the standard library, where ROOT is not given."""


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
    for one in scan(root):
        if isinstance(one, Skipped) or one.path.startswith(left_out):
            continue
        if language_of(one.path):
            target = to / one.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(one.content)
            lines += one.content.count(b"\n")
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
    found = (one for one in scan(repository) if isinstance(one, SourceFile))
    files = {
        one.path: index_file(one.text, one.path, language_of(one.path), "blocks") for one in found
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
    sample = random.Random(0).sample(nodes, sources)
    far = -math.log(CUTOFF)
    search = nx.single_source_dijkstra_path_length
    near = timed(lambda: [search(graph, node, cutoff=far, weight="far") for node in sample])
    full = timed(lambda: [search(graph, node, weight="far") for node in sample[:FULL_SOURCES]])
    near, full = near / sources * len(nodes), full / FULL_SOURCES * len(nodes)
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
    made: nx.DiGraph[int] = nx.DiGraph()
    for node in range(1, len(graph)):
        above, far = int(graph.parent[node]), -math.log(graph.edge[node])
        made.add_edge(node, above, far=far)
        made.add_edge(above, node, far=far)
    for start, end, weight in zip(graph.start, graph.end, graph.weight, strict=True):
        made.add_edge(int(start), int(end), far=-math.log(weight))
    return made


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, nargs="?")
    parser.add_argument("--sources", type=int, default=20, help="sources to time Dijkstra from")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    options = parser.parse_args()
    root = options.root or Path(sysconfig.get_paths()["stdlib"])
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "repository"
        lines = copied(root, repository, () if options.root else LEFT_OUT)
        report: dict[str, float] = {"lines": lines}
        timed = partial(took, CLOCKS[options.clock])
        report |= memory_times(repository, Path(folder) / "memory.db", timed)
        report |= relation_times(repository, options.sources, timed)
    print(json.dumps({name: round(value, 4) for name, value in report.items()}))


if __name__ == "__main__":
    main()
