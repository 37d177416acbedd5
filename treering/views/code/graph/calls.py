"""The candidates of every call of a repository, kept up to date file by file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treering.views.code.graph.code_graph import Candidates
from treering.views.code.graph.resolve import Resolver
from treering.views.code.parse.outline import ParsedFile


def updated_calls(
    old: Mapping[str, ParsedFile],
    new: Mapping[str, ParsedFile],
    calls: Mapping[str, Candidates],
) -> dict[str, Candidates]:
    """The candidates of every call of ``new``, given those of ``old``.

    Only files are resolved again that have changed or that may see a definition that has.
    """
    changed = {path for path, parsed in new.items() if old.get(path) is not parsed}
    moved = {
        path
        for path in changed | (old.keys() - new.keys())
        if _interface(old.get(path)) != _interface(new.get(path))
    }
    resolver = Resolver(new)
    if any(_bases(old.get(path)) != _bases(new.get(path)) for path in moved):
        stale = set(new)  # inherited names may now be found elsewhere, under any class
    else:
        stale = changed.union(_dependents(old, new, calls, moved))
    return {path: resolver.resolve(path) if path in stale else calls[path] for path in new}


def _dependents(
    old: Mapping[str, ParsedFile],
    new: Mapping[str, ParsedFile],
    calls: Mapping[str, Candidates],
    moved: set[str],
) -> Iterator[str]:
    """The files that call into ``moved`` files, or use a name that is new or gone there."""
    names = {
        name
        for path in moved
        for name in _offered_names(old.get(path)) ^ _offered_names(new.get(path))
    }
    for path, parsed in new.items():
        into = any(target.path in moved for targets in calls.get(path, ()) for target in targets)
        used = {call.name for call in parsed.calls} | {item.name for item in parsed.imports}
        if into or not names.isdisjoint(used):
            yield path


def _interface(parsed: ParsedFile | None) -> object:
    if parsed is None:
        return None
    passed_on = [(item.module, item.name, item.alias) for item in parsed.imports]
    return [(d.qualified, d.kind, d.bases) for d in parsed.definitions], passed_on


def _bases(parsed: ParsedFile | None) -> set[object]:
    if parsed is None:
        return set()
    return {(d.qualified, d.bases) for d in parsed.definitions if d.bases}


def _offered_names(parsed: ParsedFile | None) -> set[str]:
    """The names that a file offers to others."""
    if parsed is None:
        return set()
    imported = {item.alias or item.name for item in parsed.imports}
    return {definition.name for definition in parsed.definitions} | imported
