"""What stands around a definition in the code graph: who calls it, and whom it calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from treering.errors import UnknownName
from treering.views.code.graph.resolve import CallTarget
from treering.views.code.index.code_index import CodeIndex
from treering.views.code.parse.outline import NONE, CodeDefinition


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
    edges = list(_edges(index))
    central = _definition(index, center)
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


def _edges(index: CodeIndex) -> Iterator[tuple[CallTarget, CallTarget]]:
    """Caller and callee of every call inside a definition."""
    for path, candidates in index.calls.items():
        calls = index.files[path].parsed.calls
        for call, targets in zip(calls, candidates, strict=True):
            if call.scope != NONE:
                yield from ((CallTarget(path, call.scope), target) for target in targets)


def _counted(index: CodeIndex, targets: Iterable[CallTarget]) -> tuple[Neighbour, ...]:
    return tuple(
        _neighbour(index, target, count) for target, count in Counter(targets).most_common()
    )


def _neighbour(index: CodeIndex, target: CallTarget, calls: int = 0) -> Neighbour:
    definition = _definition(index, target)
    return Neighbour(
        target.path,
        definition.qualified,
        definition.kind,
        definition.first_line,
        definition.signature,
        calls,
    )


def _definition(index: CodeIndex, target: CallTarget) -> CodeDefinition:
    return index.files[target.path].parsed.definitions[target.place]
