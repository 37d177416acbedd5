"""All operations over growing sizes: which there are, and one run of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from treering.bench.peers.contract import PeerFactory
from treering.bench.perf import operations, parts
from treering.bench.perf.timing import Timed
from treering.bench.perf.world import World
from treering.embed.contract import Embedder
from treering.errors import UnknownName

LEAST_N = 1_000

OF_MEMORIES: Mapping[str, Callable[[World], list[Timed]]] = {
    "search": operations.search,
    "open": operations.opening,
    "ingest": operations.ingest,
    "forget": operations.forget,
    "size": operations.size,
    "resident": operations.resident,
}
"""Each needs a memory of that size; filling it gives ``store``."""

OF_PARTS: Mapping[str, Callable[[], Callable[[int], list[Timed]]]] = {
    "rank": lambda: parts.ranking,
    "tree": parts.Growing,
    "code": lambda: parts.code,
}

OPERATIONS = ("store", *OF_MEMORIES, *OF_PARTS)

LIMITS: Mapping[str, str] = {
    "store": "inserting texts and vectors into SQLite",
    "search": "the matrix-vector product",
    "open": "reading the vectors from SQLite",
    "ingest": "the bare embedder",
    "forget": "SQLite's delete and vacuum",
    "size": "the same texts and vectors in SQLite",
    "resident": "the vectors alone",
    "rank": "the matrix-vector product",
    "tree": "comparing with every node",
    "code": "tree-sitter's parse",
}
"""What each operation is measured against; by the first word of its name."""


def sizes(most: int) -> list[int]:
    """Powers of ten from 1,000 up to ``most``, and ``most``."""
    powers = [10**power for power in range(3, len(str(most)))]
    return [*(n for n in powers if n < most), most]


def run(
    chosen: Sequence[str], most: int, model: Embedder, peers: Mapping[str, PeerFactory]
) -> Iterator[Timed]:
    """Time the operations ``chosen`` at every size, parts first. Raises UnknownName."""
    unknown = [name for name in chosen if name not in OPERATIONS]
    if unknown:
        raise UnknownName(f"no operation {unknown[0]!r}; there are {', '.join(OPERATIONS)}")
    for name in chosen:
        if name in OF_PARTS:
            part = OF_PARTS[name]()
            for n in sizes(most):
                yield from part(n)
    if set(chosen) - set(OF_PARTS):
        yield from _of_memories(chosen, most, model, peers)


def _of_memories(
    chosen: Sequence[str], most: int, model: Embedder, peers: Mapping[str, PeerFactory]
) -> Iterator[Timed]:
    with World(model, peers) as world:
        for n in sizes(most):
            stored = world.grow(n)
            if "store" in chosen:
                yield from stored
            for name, operation in OF_MEMORIES.items():
                if name in chosen:
                    yield from operation(world)
