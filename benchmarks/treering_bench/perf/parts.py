"""Parts of treering on their own at any size: ranking, the tree, the code index."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from treering.arrays import Floats
from treering.journal.space import SpaceState
from treering.memory import Memory
from treering.records import KINDS
from treering.search.lexical import Lexical
from treering.search.rank import rank
from treering.search.relations.combine import Relations
from treering.search.relations.contract import Items
from treering.search.relations.decay import ContextRelation
from treering.search.relations.defaults import Weighted
from treering.search.relations.registry import Plan
from treering.search.relations.semantic import Semantic
from treering.search.snapshot import Snapshot
from treering.views.code.parse.language import language_of
from treering.views.code.parse.parser import syntax_root
from treering.views.code.parse.source_files import SourceFile, scan
from treering.views.tree.settings import Settings, Threshold
from treering.views.tree.shape import Tree
from treering_bench.perf.timing import (
    FEW_ROUNDS,
    LIMIT,
    OURS,
    ROUNDS,
    Timing,
    compared,
    in_turn,
    seconds_of,
)

DIMENSION = 384  # of the bundled model
DOCUMENT = 100  # fragments a document
TOP = 10
LAST = 500  # inserts into a tree that a figure is taken over
TOPICS, SUBJECTS = 200, 4_000
CODE_MOST = 300_000
"""Lines of the standard library, of which there are about half a million."""
_NOT_CODE = ("test/", "idlelib/", "lib2to3/", "site-packages/")

_CONTEXT = Weighted(ContextRelation(w=0.5), alpha=1.0)
PLANS: Mapping[str, Plan] = {
    "dense": {},
    "context": {"text": (_CONTEXT,)},
    "context+semantic": {"text": (_CONTEXT, Weighted(Semantic(), alpha=0.5))},
}


def ranking(n: int) -> list[Timing]:
    """Ranking vectors in memory with more and more relations, against the bare product.

    This is where the relations' cost shows, which ``search`` hides behind words and files.
    """
    table = _snapshot(n)
    query = table.items.vectors[n // 2].copy()
    relations = Relations()

    def ranked(plan: Plan) -> None:
        rank(table, relations, plan, ["?"], query[None], "dense").best(0, TOP)

    def product() -> None:
        _ = table.items.vectors @ query

    timed: list[Timing] = []
    for name, plan in PLANS.items():
        ways: dict[str, Callable[[], object]] = {LIMIT: product, OURS: partial(ranked, plan)}
        timed += in_turn(f"rank {name}", n, ways, ROUNDS)
    return timed


class GrowingTree:
    """One tree that grows from size to size."""

    def __init__(self) -> None:
        self._tree = Tree(DIMENSION, Settings(Threshold()))
        self._vectors = mixture(DIMENSION, seed=0)

    def __call__(self, n: int) -> list[Timing]:
        """Inserting into a tree of ``n`` nodes, against comparing a vector with ``n`` others."""
        while len(self._tree) < n - LAST:
            self._tree.insert(next(self._vectors))
        new = list(islice(self._vectors, LAST))
        ours = [seconds_of(partial(self._tree.insert, vector)) for vector in new]
        matrix = np.ones((n, DIMENSION), dtype=np.float32)  # zeros would share one page
        [scan_] = in_turn("tree", n, {LIMIT: lambda: (matrix @ new[0]).argmax()}, ROUNDS)
        return compared("tree", n, {LIMIT: [scan_.value] * LAST, OURS: ours})


def code(n: int) -> list[Timing]:
    """Indexing ``n`` lines of the standard library, against parsing them with tree-sitter."""
    if n > CODE_MOST:
        return []
    with TemporaryDirectory(prefix="treering-perf-") as folder:
        repository = Path(folder) / "repository"
        sources = _copied(repository, n)

        def parse() -> None:
            for source in sources:
                syntax_root(source, "python")

        def index() -> None:
            with (
                TemporaryDirectory(dir=folder) as fresh,
                Memory.open(Path(fresh) / "memory.db") as memory,
            ):
                memory.code.index(repository)

        return in_turn("code", n, {LIMIT: parse, OURS: index}, FEW_ROUNDS)


def mixture(dimension: int, seed: int) -> Iterator[Floats]:
    """Unit vectors around subjects that lie around topics, for ever.

    Their cosines are spread as those of real sentences.
    """
    rng = np.random.default_rng(seed)
    topics = rng.normal(size=(TOPICS, dimension))
    subjects = topics[rng.integers(TOPICS, size=SUBJECTS)]
    subjects += 0.8 * rng.normal(size=subjects.shape)
    while True:
        block = subjects[rng.integers(SUBJECTS, size=1000)]
        block = block + 1.2 * rng.normal(size=block.shape)
        yield from (block / np.linalg.norm(block, axis=1, keepdims=True)).astype(np.float32)


def _snapshot(size: int) -> Snapshot:
    """Random unit vectors in documents of 100 fragments."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((size, DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = np.arange(size, dtype=np.int64)
    missing = np.full(size, -1, dtype=np.int64)
    items = Items(
        document=rows // DOCUMENT,
        position=rows % DOCUMENT,
        session=missing,
        speaker=missing,
        at=np.full(size, np.nan),
        vectors=vectors,
    )
    kind = np.full(size, KINDS.index("text"), dtype=np.int8)
    embedded = np.ones(size, dtype=np.bool_)
    state = SpaceState(id=1, revision=1)
    return Snapshot(rows, rows, kind, items, Lexical(), embedded, (), ("text",), 1, state)


def _copied(to: Path, lines: int) -> list[bytes]:
    """Copy files of the standard library until they have so many lines; their contents."""
    sources: list[bytes] = []
    left = lines
    for file in scan(Path(sysconfig.get_paths()["stdlib"])):
        if not isinstance(file, SourceFile) or file.path.startswith(_NOT_CODE):
            continue
        if language_of(file.path) == "python" and left > 0:
            target = to / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content)
            sources.append(file.content)
            left -= file.content.count(b"\n")
    return sources
