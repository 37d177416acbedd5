"""All operations over growing sizes: which there are, and one run of them."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from treering.embed.contract import Embedder
from treering.errors import UnknownName
from treering.views.code.parse.syntax import syntax_root
from treering_bench.perf import code, fresh, live
from treering_bench.perf.timing import BOUNDS, Bounds, Timing
from treering_bench.perf.world import World

log = logging.getLogger("treering")

LEAST_N = 1_000

Done = tuple[str, int]
"""An operation at a size."""

OF_MEMORIES: Mapping[str, Callable[[World], list[Timing]]] = {
    "warm": live.warm,
    "after-add": live.after_add,
    "by-source": live.by_source,
    "by-time": live.by_time,
    "by-metadata": live.by_metadata,
    "first": fresh.first,
    "ingest": live.ingest,
    "forget": live.forget,
    "size": live.size,
    "peak": fresh.peak,
}
"""Each needs a memory of that size; filling it gives ``store``."""

BESIDE_BARE = frozenset({"forget", "size"})
"""Operations that are measured against a bare file of the same turns."""

CODE = "code"
OPERATIONS = ("store", *OF_MEMORIES, CODE)

LIMITS: Mapping[str, str] = {
    "store": "inserting texts and vectors into SQLite",
    "warm": "the matrix-vector product",
    "after-add": "the search before the add",
    "by-source": "a search of everything",
    "by-time": "a search of everything",
    "by-metadata": "a search of everything",
    "first": "reading as many bytes from SQLite",
    "ingest": "the bare embedder",
    "forget": "SQLite's delete and vacuum",
    "size": "the same texts and vectors in SQLite",
    "peak": "the vectors alone",
    "code": "tree-sitter's parse",
}
"""The limit of each operation; by the first word of its name."""


def done_as(name: str, n: int) -> Done:
    """The operation of a timed name, with the size: "warm context" belongs to ``warm``."""
    return name.split()[0], n


def sizes(most: int) -> list[int]:
    """Powers of ten from 1,000 up to ``most``, and ``most``."""
    powers = [10**power for power in range(3, len(str(most)))]
    return [*(n for n in powers if n < most), most]


def run(
    chosen: Sequence[str],
    most: int,
    model: Embedder,
    done: Collection[Done] = (),
    folder: Path | None = None,
    bounds: Bounds = BOUNDS,
) -> Iterator[list[Timing]]:
    """Time the operations ``chosen`` at every size but for those ``done``, code first.

    ``folder`` keeps the memory, so that the next run need not fill it again; what was not saved of
    ``store`` by then is not timed any more. Raises UnknownName, and InputError if it holds a larger
    one than an operation needs.
    """
    unknown = [name for name in chosen if name not in OPERATIONS]
    if unknown:
        raise UnknownName(f"no operation {unknown[0]!r}; there are {', '.join(OPERATIONS)}")
    if CODE in chosen:
        syntax_root(b"", "python")  # a missing extra should fail before anything is timed
        for n in sizes(most):
            if (CODE, n) not in done:
                yield code.code(n)
    left = {
        n: names
        for n in sizes(most)
        if (names := [o for o in chosen if o != CODE and (o, n) not in done])
    }
    if left:
        with closing(World(model, folder, bounds)) as world:
            for n in sizes(max(left)):  # also through those done: there the next `store` begins
                yield from _of_memory(world, n, left.get(n, ()))


def again(
    due: Collection[Done],
    most: int,
    model: Embedder,
    folder: Path | None = None,
    bounds: Bounds = BOUNDS,
) -> Iterator[list[Timing]]:
    """Time operations again, each at its sizes only; those at ``most`` in the memory kept."""
    for n in sorted({n for _, n in due}):
        names = [name for name in OPERATIONS if (name, n) in due]
        smaller = [(name, size) for name in names for size in sizes(n) if size < n]
        yield from run(names, n, model, smaller, folder if n == most else None, bounds)


def _of_memory(world: World, n: int, names: Sequence[str]) -> Iterator[list[Timing]]:
    is_grown = world.n >= n
    if is_grown and "store" in names:
        log.warning(
            "store at %s is not timed: %s holds as many turns already; remove it to have that",
            f"{n:,}",
            world.folder,
        )
    asked = [
        operation
        for name, operation in OF_MEMORIES.items()
        if name in names and (n <= world.bounds.bare_most or name not in BESIDE_BARE)
    ]
    if is_grown and not asked:
        return
    stored = world.grow(n)
    if "store" in names and not is_grown:
        yield stored
    for operation in asked:
        gc.collect()  # garbage of other operations must not be collected while this one is timed
        yield operation(world)
