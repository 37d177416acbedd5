"""The repository map (the most central definitions within a budget of tokens) and callers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treering.arrays import Floats
from treering.errors import InputError, UnknownName
from treering.llm.tokens import estimate_tokens
from treering.search.searcher import check_count
from treering.views.code.graph.operator import import_sparse
from treering.views.code.graph.resolve import CallTarget
from treering.views.code.index.code_index import CodeIndex
from treering.views.code.parse.outline import NONE, CodeDefinition

if TYPE_CHECKING:
    from scipy import sparse

MAX_SHARE = 1e6  # of attention; shares are compared with each other only
DAMPING = 0.85
"""Of PageRank: a reader follows a call six times out of seven."""
TO_ITSELF = 0.1
"""The share of a definition's weight that its class or module gets, and hands to its members."""
_TOLERANCE = 1e-8
_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class Mapped:
    """A definition on the map."""

    path: str
    definition: CodeDefinition
    centrality: float
    """Its share of all attention; those of the whole repository sum to 1."""


def repository_map(
    index: CodeIndex,
    budget: int,
    focus: Mapping[str, float] | None = None,
    count_tokens: Callable[[str], int] = estimate_tokens,
) -> str:
    """Signatures of the most central definitions by file, within ``budget`` tokens.

    ``focus`` gives files a share of the attention, such as those a conversation is about.
    Raises InputError for a budget below 1.
    """
    check_count("budget", budget, " token")
    ranked = central(index, focus)
    fits, too_many = 0, len(ranked) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if count_tokens(render(ranked[:middle])) <= budget:
            fits = middle
        else:
            too_many = middle
    return render(ranked[:fits])


def render(chosen: Iterable[Mapped]) -> str:
    """A text of the map: each file with its definitions in order, nested as in the source."""
    files: dict[str, list[CodeDefinition]] = {}
    for chosen_one in chosen:
        files.setdefault(chosen_one.path, []).append(chosen_one.definition)
    blocks = []
    for path, definitions in files.items():
        lines = [f"{path}:"]
        for definition in sorted(definitions, key=lambda d: d.span.start):
            depth = definition.qualified.count(".") + 1
            lines.append(f"{'  ' * depth}{definition.span.first_line}: {definition.signature}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def central(index: CodeIndex, focus: Mapping[str, float] | None = None) -> list[Mapped]:
    """All definitions, most central first: PageRank over who calls what."""
    targets = [
        CallTarget(path, place)
        for path, file in index.files.items()
        for place in range(len(file.parsed.definitions))
    ]
    rank = _pagerank(_links(index, targets), _restart(targets, focus))
    order = np.argsort(-rank, kind="stable")
    return [
        Mapped(targets[at].path, index.definition(targets[at]), float(rank[at]))
        for at in order.tolist()
    ]


def _links(index: CodeIndex, targets: list[CallTarget]) -> sparse.csr_array:
    """How much of a definition's attention goes to each it calls, shape (n, n)."""
    number = {target: at for at, target in enumerate(targets)}
    edges = [
        (number[caller], number[called], share) for caller, called, share in index.call_edges()
    ]
    for at, (path, place) in enumerate(targets):
        parent = index.definition(CallTarget(path, place)).parent
        if parent != NONE:
            edges.append((at, number[CallTarget(path, parent)], TO_ITSELF))
    start, end, weight = np.array(edges).reshape(-1, 3).T
    ends = (start.astype(np.int64), end.astype(np.int64))
    links: sparse.csr_array = import_sparse().csr_array(
        (weight, ends), shape=(len(targets), len(targets))
    )
    return links


def _restart(targets: list[CallTarget], focus: Mapping[str, float] | None) -> Floats:
    """Where a reader starts: anywhere, or in the files of ``focus`` by their shares."""
    for path, share in (focus or {}).items():
        if not 0 <= share <= MAX_SHARE:
            raise InputError(f"focus of {path!r} is {share}; give shares from 0 to {MAX_SHARE:g}")
    weights = np.array(
        [1.0 if not focus else focus.get(target.path, 0.0) for target in targets], dtype=np.float32
    )
    total = weights.sum()
    return weights / total if total else np.full(len(targets), 1 / max(len(targets), 1), np.float32)


def _pagerank(links: sparse.csr_array, restart: Floats) -> Floats:
    """The stationary attention; definitions that call nothing send theirs back to the start."""
    out = np.asarray(links.sum(axis=1)).ravel()
    flow = links.T.multiply(1 / np.where(out > 0, out, 1)).tocsr()
    rank = restart.astype(np.float64)
    for _ in range(_ROUNDS):
        lost = rank[out == 0].sum()
        following = (1 - DAMPING) * restart + DAMPING * (flow @ rank + lost * restart)
        if np.abs(following - rank).sum() < _TOLERANCE:
            break
        rank = following
    return rank.astype(np.float32)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A definition, and how many calls tie it to the one that was asked for.

    A call whose name could mean several definitions counts for each of them.
    """

    path: str
    definition: str
    kind: str
    line: int
    signature: str
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A definition with its text, its callers and what it calls, most calls first."""

    center: Neighbour
    text: str
    doc: str
    callers: tuple[Neighbour, ...]
    callees: tuple[Neighbour, ...]
    members: tuple[Neighbour, ...]


def neighbourhood(index: CodeIndex, path: str, definition: str) -> Neighbourhood:
    """The neighbourhood of the definition of that qualified name in a file. Raises UnknownName."""
    center = _find(index, path, definition)
    edges = [(caller, callee) for caller, callee, _ in index.call_edges()]
    central = index.definition(center)
    inside = index.files[path].parsed.definitions
    return Neighbourhood(
        center=_neighbour(index, center),
        text=index.files[path].parsed.text(central.span),
        doc=central.doc,
        callers=_counted(index, (caller for caller, callee in edges if callee == center)),
        callees=_counted(index, (callee for caller, callee in edges if caller == center)),
        members=tuple(
            _neighbour(index, CallTarget(path, place))
            for place, inner in enumerate(inside)
            if inner.parent == center.place
        ),
    )


def _find(index: CodeIndex, path: str, definition: str) -> CallTarget:
    file = index.files.get(path)
    if file is None:
        raise UnknownName(f"no file {path!r} is indexed; search names those that are")
    for place, candidate in enumerate(file.parsed.definitions):
        if candidate.qualified == definition:
            return CallTarget(path, place)
    names = ", ".join(candidate.qualified for candidate in file.parsed.definitions[:10]) or "none"
    raise UnknownName(f"{path} has no definition {definition!r}; it has {names}")


def _counted(index: CodeIndex, targets: Iterable[CallTarget]) -> tuple[Neighbour, ...]:
    return tuple(
        _neighbour(index, target, count) for target, count in Counter(targets).most_common()
    )


def _neighbour(index: CodeIndex, target: CallTarget, calls: int = 0) -> Neighbour:
    definition = index.definition(target)
    return Neighbour(
        target.path,
        definition.qualified,
        definition.kind,
        definition.first_line,
        definition.signature,
        calls,
    )
