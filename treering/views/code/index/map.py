"""The repository map, which is the most called definitions within a token budget, and callers."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from treering.errors import UnknownName
from treering.llm.tokens import estimate_tokens
from treering.search.searcher import check_count
from treering.views.code.graph.resolve import CallTarget
from treering.views.code.index.code_index import CodeIndex
from treering.views.code.parse.outline import NONE, CodeDefinition


def repository_map(
    index: CodeIndex, budget: int, count_tokens: Callable[[str], int] = estimate_tokens
) -> str:
    """Return the signatures of the most called definitions by file, within ``budget`` tokens.

    Raises InputError for a budget below 1.
    """
    check_count("budget", budget, " token")
    ranked = by_calls(index)

    def tokens(count: int) -> int:
        return count_tokens(_render(index, ranked[:count]))

    fits = bisect_right(range(1, len(ranked) + 1), budget, key=tokens)
    return _render(index, ranked[:fits])


def by_calls(index: CodeIndex) -> list[CallTarget]:
    """All definitions, most called first; a class counts the calls of its members, too.

    A call that can mean several definitions is shared between them.
    """
    calls: defaultdict[CallTarget, float] = defaultdict(float)
    for caller, called, share in index.call_edges():
        if caller != called:
            calls[called] += share
    targets = [
        CallTarget(path, place)
        for path, file in index.files.items()
        for place in range(len(file.parsed.definitions))
    ]
    for target in reversed(targets):  # members come after their class
        parent = index.definition(target).parent
        if parent != NONE:
            calls[CallTarget(target.path, parent)] += calls[target]
    return sorted(targets, key=lambda target: -calls[target])


def _render(index: CodeIndex, chosen: Sequence[CallTarget]) -> str:
    """Each file with its chosen definitions in order, nested as in the source."""
    files: dict[str, list[CodeDefinition]] = {}
    for target in chosen:
        files.setdefault(target.path, []).append(index.definition(target))
    blocks = []
    for path, definitions in files.items():
        lines = [f"{path}:"]
        for definition in sorted(definitions, key=lambda d: d.span.start):
            depth = definition.qualified.count(".") + 1
            lines.append(f"{'  ' * depth}{definition.span.first_line}: {definition.signature}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A definition, and the number of calls between it and the requested one.

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
    """A definition with its text, its callers and callees, most calls first."""

    center: Neighbour
    text: str
    doc: str
    callers: tuple[Neighbour, ...]
    callees: tuple[Neighbour, ...]
    members: tuple[Neighbour, ...]


def neighbourhood(index: CodeIndex, path: str, definition: str) -> Neighbourhood:
    """Return the neighbourhood of a file's definition, by qualified name. Raises UnknownName."""
    center = _find(index, path, definition)
    edges = [(caller, callee) for caller, callee, _ in index.call_edges()]
    parsed = index.files[path].parsed
    inside = enumerate(parsed.definitions)
    return Neighbourhood(
        center=_neighbour(index, center),
        text=parsed.text(index.definition(center).span),
        doc=index.definition(center).doc,
        callers=_by_count(index, (caller for caller, callee in edges if callee == center)),
        callees=_by_count(index, (callee for caller, callee in edges if caller == center)),
        members=tuple(
            _neighbour(index, CallTarget(path, place))
            for place, inner in inside
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
    raise UnknownName(f"{path} lacks the definition {definition!r}; it has {names}")


def _by_count(index: CodeIndex, targets: Iterable[CallTarget]) -> tuple[Neighbour, ...]:
    counted = Counter(targets).most_common()
    return tuple(_neighbour(index, target, count) for target, count in counted)


def _neighbour(index: CodeIndex, target: CallTarget, calls: int = 0) -> Neighbour:
    found = index.definition(target)
    return Neighbour(
        target.path, found.qualified, found.kind, found.first_line, found.signature, calls
    )
