"""What indexing a working tree has to do: which files, how, and what that changes."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from treering.code.index import store
from treering.code.index.code_index import CodeIndex, IndexedFile
from treering.code.parse.cuts import Unit
from treering.code.parse.source_files import SourceFile, scan
from treering.code.rounds import marks
from treering.records import Skipped

_MEMORY_SUFFIXES = ("", "-wal", "-shm")
"""Of the files in which SQLite keeps a database that is open."""


@dataclass(frozen=True, slots=True)
class CodeReceipt:
    """What indexing a repository did, in files."""

    root: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """How a repository shall be indexed."""

    unit: Unit
    model: str | None

    @classmethod
    def of(
        cls, known: store.Repository | None, unit: Unit | None, embed: bool | None, model: str
    ) -> IndexSettings:
        """What is asked for, or else as it was."""
        before = known.model if known else None
        chosen = before if embed is None else model if embed else None
        return cls(unit or (known.unit if known else "blocks"), chosen)

    def is_met_by(self, known: store.Repository) -> bool:
        """Whether a repository is indexed in this way."""
        return (known.unit, known.model) == (self.unit, self.model)


@dataclass(frozen=True, slots=True)
class FileChange:
    """How a working tree differs from what is indexed of it."""

    root: str
    files: Mapping[str, SourceFile]
    """New and changed files."""
    old: frozenset[str]
    removed: tuple[str, ...]
    unchanged: int
    skipped: tuple[Skipped, ...]

    @classmethod
    def of(cls, root: Path, old: Mapping[str, bytes], memory: Path) -> FileChange:
        """Compare the tree at ``root`` with the digests of its files when they were indexed.

        The files of ``memory``, which may lie in the tree, are passed over in silence.
        """
        file = memory.resolve()
        own = {file.with_name(file.name + suffix) for suffix in _MEMORY_SUFFIXES}
        seen = [one for one in scan(root) if root / one.path not in own]
        found = {one.path: one for one in seen if isinstance(one, SourceFile)}
        files = {path: one for path, one in found.items() if old.get(path) != one.digest}
        return cls(
            root=str(root),
            files=files,
            old=frozenset(old),
            removed=tuple(path for path in old if path not in found),
            unchanged=len(found) - len(files),
            skipped=tuple(one for one in seen if isinstance(one, Skipped)),
        )

    def receipt(self) -> CodeReceipt:
        """What taking in the change does."""
        return CodeReceipt(
            root=self.root,
            added=tuple(path for path in self.files if path not in self.old),
            changed=tuple(path for path in self.files if path in self.old),
            removed=self.removed,
            unchanged=self.unchanged,
            skipped=self.skipped,
        )


def noticed(
    index: CodeIndex, made: Mapping[str, IndexedFile], removed: Iterable[str]
) -> tuple[set[marks.DefinitionPlace], set[marks.DefinitionPlace]]:
    """Definitions that new versions of files change, and those that are in no file any more."""
    old = {path: _texts(index.files[path]) for path in (*made, *removed) if path in index.files}
    new = {path: _texts(file) for path, file in made.items()}
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
    return {one.qualified: file.parsed.text(one.span) for one in file.parsed.definitions}


@contextmanager
def paused() -> Iterator[None]:
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
