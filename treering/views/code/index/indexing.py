"""The plan of indexing a working tree: its files, settings and changes."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from treering.records import Skipped
from treering.views.choices import Unit
from treering.views.code.graph.paths import MOST_PATHS
from treering.views.code.index import store
from treering.views.code.index.code_index import IndexedFile
from treering.views.code.parse.source_files import SourceFile, UnreadablePath, scan
from treering.views.code.rounds import marks

TOO_DEEP = "its definitions nest too deeply"
TOO_WIDE = f"more than {MOST_PATHS:,} paths through its calls; split it, or leave it to .gitignore"

_MEMORY_SUFFIXES = ("", "-wal", "-shm")
"""Suffixes of the files that an open SQLite database consists of."""


@dataclass(frozen=True, slots=True)
class CodeReceipt:
    """The files that indexing a repository added, changed and removed."""

    root: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]


class IndexSettings(NamedTuple):
    """How a repository shall be indexed."""

    unit: Unit
    edges: str
    model: str | None

    def is_met_by(self, repository: store.Repository | None) -> bool:
        """Whether a repository is indexed in this way."""
        return repository is not None and self == (
            repository.unit,
            repository.edges,
            repository.model,
        )


@dataclass(frozen=True, slots=True)
class FileChange:
    """The difference between a working tree and its index."""

    root: str
    files: Mapping[str, SourceFile]
    """New and changed files."""
    old: frozenset[str]
    removed: tuple[str, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]

    @classmethod
    def compare(cls, root: Path, old: Mapping[str, bytes], memory: Path) -> FileChange:
        """Compare the tree at ``root`` with the digests of its files when they were indexed.

        The files of ``memory``, which may lie in the tree, are passed over in silence.
        """
        file = memory.resolve()
        own = {file.with_name(file.name + suffix) for suffix in _MEMORY_SUFFIXES}
        seen = [file for file in scan(root) if root / file.path not in own]
        sources = {file.path: file for file in seen if isinstance(file, SourceFile)}
        # A path that cannot be read is not gone: its index stays as it is.
        unreadable = [file.path for file in seen if isinstance(file, UnreadablePath)]
        unread = {p for p in old if any(PurePosixPath(p).is_relative_to(u) for u in unreadable)}
        files = {path: file for path, file in sources.items() if old.get(path) != file.digest}
        return cls(
            root=str(root),
            files=files,
            old=frozenset(old),
            removed=tuple(path for path in old if path not in sources and path not in unread),
            unchanged=len(sources) - len(files),
            skipped=tuple(file for file in seen if isinstance(file, Skipped)),
        )

    def without(self, paths: AbstractSet[str], reason: str) -> FileChange:
        """The change without files that cannot be indexed."""
        return replace(
            self,
            files={path: file for path, file in self.files.items() if path not in paths},
            removed=(*self.removed, *sorted(self.old.intersection(paths))),
            unchanged=self.unchanged - len(paths - self.files.keys()),
            skipped=(*self.skipped, *(Skipped(path, reason) for path in sorted(paths))),
        )

    def receipt(self) -> CodeReceipt:
        """The receipt for this change."""
        return CodeReceipt(
            root=self.root,
            added=tuple(path for path in self.files if path not in self.old),
            changed=tuple(path for path in self.files if path in self.old),
            removed=self.removed,
            unchanged=self.unchanged,
            skipped=self.skipped,
        )


def differing_definitions(
    before: Mapping[str, IndexedFile], fresh: Mapping[str, IndexedFile], removed: Iterable[str]
) -> tuple[set[marks.DefinitionPlace], set[marks.DefinitionPlace]]:
    """Definitions that new versions of files change, and those that are in no file any more."""
    old = {path: _texts(before[path]) for path in (*fresh, *removed) if path in before}
    new = {path: _texts(file) for path, file in fresh.items()}
    lost = [
        (path, name)
        for path, texts in old.items()
        for name in texts.keys() - new.get(path, {}).keys()
    ]
    elsewhere = {name for texts in new.values() for name in texts}
    changed = {
        marks.DefinitionPlace(path, name)
        for path, texts in old.items()
        for name, text in texts.items()
        if new.get(path, {}).get(name, text) != text
    }
    return changed, {
        marks.DefinitionPlace(path, name) for path, name in lost if name not in elsewhere
    }


def _texts(file: IndexedFile) -> dict[str, str]:
    """The definitions of a file by name."""
    return {
        definition.qualified: file.parsed.text(definition.span)
        for definition in file.parsed.definitions
    }


@contextmanager
def pause_collector() -> Iterator[None]:
    """Collect no cycles for a while.

    An index is a hundred thousand small values without a cycle. The collector goes through all of
    them again and again as they come, which takes as long as making them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
