"""The repositories of a space that are indexed: read, held in main memory, brought up to date."""

from __future__ import annotations

import gc
import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np

from treering.embed.contract import Embedder, unit_vectors
from treering.errors import JournalBusy, TreeringError, UnknownRepository
from treering.hints import Hint
from treering.journal.space import Space
from treering.records import Progress, Skipped
from treering.views.choices import Unit, parse_edges, window_of
from treering.views.code.index import store
from treering.views.code.index.code_index import CodeIndex, IndexedFile, index_file
from treering.views.code.parse.language import language_of
from treering.views.code.parse.source_files import SourceFile, UnreadablePath, scan, tree_state
from treering.views.code.rounds.changes import DefinitionPlace, save_noticed
from treering.views.erase import Eraser
from treering.views.settings import settings_of

log = logging.getLogger("treering")

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


class Repositories:
    """The repositories of a space with their indexes. All methods may be called from any thread.

    ``code_roots`` are the folders whose files may be read again; None for all.
    """

    def __init__(
        self, space: Space, embedder: Embedder, code_roots: Sequence[Path] | None = None
    ) -> None:
        self.embedder = embedder
        self._space = space
        self._code_roots = code_roots
        self._seen: dict[int, tuple[int, object]] = {}
        self._indexing = threading.Lock()  # taken before the other, and held while files are read
        self._lock = threading.RLock()
        self._loaded: dict[int, tuple[int, CodeIndex]] = {}

    def index(
        self,
        root: str | Path,
        unit: Unit | None,
        embed: bool | None,
        progress: Progress | None,
    ) -> CodeReceipt:
        """See ``CodeMemory.index``."""
        with self._indexing:
            return self._index_now(Path(root).resolve(), unit, embed, progress)

    def _index_now(
        self, top: Path, unit: Unit | None, embed: bool | None, progress: Progress | None
    ) -> CodeReceipt:
        with pause_collector():
            repository = next((each for each in self._listed() if each.root == str(top)), None)
            settings = settings_of(self._space)
            before = repository.settings if repository else settings
            model = repository.settings.model if repository else None
            if embed is not None:
                model = self.embedder.name if embed else None
            want = store.IndexSettings(unit or before.unit, settings.edges, model)
            window_of(want.unit)  # raises InputError before a file is read
            goes_on = repository is not None and repository.settings == want
            index, old = _new_index(want), dict[str, bytes]()
            if repository is not None and goes_on:
                with self._lock:
                    # A copy: the one that is there is being searched.
                    index = copy(self._index(repository))
                with self._space.read() as reader:
                    old = store.digests(reader, repository)
            receipt, sources = _compare(top, old, Path(self._space.database.url))
            if sources or receipt.removed or not goes_on:
                self._apply(receipt, sources, want, index, repository, progress)
            return receipt

    def open_index(self, root: str | Path | None) -> tuple[store.Repository, CodeIndex]:
        """The repository at ``root``, or the only one, with its index as its files are now."""
        top = self._repository(root).root
        self.refresh(top)
        repository = self._repository(top)
        with self._lock:
            return repository, self._index(repository)

    def refresh(self, top: str) -> None:
        """Read what has changed of a repository: another branch may be checked out.

        Where it cannot be read, a warning is logged and its index stays as it is.
        """
        repository, folder = self._repository(top), Path(top)
        roots = (folder,) if self._code_roots is None else self._code_roots
        is_served = any(folder.resolve().is_relative_to(root) for root in roots)
        if not is_served or repository.settings.model not in (None, self.embedder.name):
            return
        if not self._indexing.acquire(blocking=False):
            return  # another thread is at it
        try:
            state = tree_state(folder)
            if self._seen.get(repository.id) != (repository.revision, state):
                self._index_now(folder, None, None, None)
                self._seen[repository.id] = (self._repository(top).revision, state)
        except TreeringError as error:
            log.warning("%s is searched as it was when it was indexed: %s", top, error)
        finally:
            self._indexing.release()

    def roots(self) -> list[str]:
        """The roots of all repositories."""
        return [repository.root for repository in self._listed()]

    def drop(self, root: str | Path, eraser: Eraser) -> int:
        """Erase a repository's index, also from the file's bytes; return how many files it had."""
        with self._indexing, self._lock:
            repository = self._repository(root)  # its index may be damaged: it is not read
            with self._space.write() as writer:
                files = store.drop(writer, repository)
                eraser.queue_scrub(writer)
            self._loaded.pop(repository.id, None)
            eraser.scrub_code()
        return files

    def use(self, embedder: Embedder) -> None:
        """Embed with another model from now on."""
        with self._indexing, self._lock:
            self.embedder = embedder

    def _listed(self) -> list[store.Repository]:
        with self._space.read() as reader:
            return store.repositories(reader, reader.id)

    def _repository(self, root: str | Path | None) -> store.Repository:
        """The repository at ``root``, or the only one. Raises UnknownName."""
        indexed = self._listed()
        if root is not None:
            # As it was indexed, too: it may have become a link since.
            paths = {str(root), str(Path(root).resolve())}
            indexed = [repository for repository in indexed if repository.root in paths]
        if len(indexed) == 1:
            return indexed[0]
        if not (roots := self.roots()):
            raise UnknownRepository("no repository is indexed")
        listed = ", ".join(roots)
        if root is None:
            message = f"more than one repository is indexed: {listed}"
            raise UnknownRepository(message, hint=Hint.CHOOSE_REPOSITORY, param="root")
        raise UnknownRepository(f"{root} is not indexed; indexed are: {listed}", param="root")

    def _index(self, repository: store.Repository) -> CodeIndex:
        """The repository's index, read again if another process has changed it."""
        revision, index = self._loaded.get(repository.id, (None, None))
        if index is None or revision != repository.revision:
            with self._space.read() as reader, pause_collector():
                files, calls = store.load(reader, repository)
            index = _new_index(repository.settings)
            index.restore(files, calls)
            self._loaded[repository.id] = (repository.revision, index)
        return index

    def _index_files(
        self, fresh: Mapping[str, SourceFile], want: store.IndexSettings, progress: Progress | None
    ) -> dict[str, IndexedFile]:
        files: dict[str, IndexedFile] = {}
        for path, source in fresh.items():
            file = index_file(source.text, path, language_of(path), want.unit)
            if want.model is not None:
                texts = [file.fragment_text(lines) for lines in file.fragments]
                none = np.zeros((0, self.embedder.dimension), dtype=np.float32)
                file = replace(file, vectors=unit_vectors(self.embedder, texts) if texts else none)
            files[path] = file
            if progress is not None:
                progress(len(files), len(fresh))
        return files

    def _apply(
        self,
        receipt: CodeReceipt,
        sources: Mapping[str, SourceFile],
        want: store.IndexSettings,
        index: CodeIndex,
        former: store.Repository | None,
        progress: Progress | None,
    ) -> None:
        """Bring ``index`` and the database up to date; the index is used once both are."""
        files = self._index_files(sources, want, progress)
        before, former_files = dict(index.calls), index.files
        index.update(files, receipt.removed)
        changed, gone = _differing_definitions(former_files, files, receipt.removed)
        digests = {path: source.digest for path, source in sources.items()}
        resolved_again = {
            path: calls
            for path, calls in index.calls.items()
            if path not in files and before[path] is not calls
        }
        with self._space.write() as writer:
            goes_on = former is not None and former.settings == want
            if former is not None and not goes_on:
                store.drop(writer, former)
            repository = store.add(writer, writer.id, receipt.root, want)
            if repository != (former if goes_on else replace(repository, revision=0)):
                raise JournalBusy(
                    f"another process has just indexed {receipt.root}; index it again"
                )
            store.delete(writer, repository, receipt.removed)
            store.save_files(writer, repository, files, digests, index.calls)
            store.save_calls(writer, repository, resolved_again)
            save_noticed(writer, repository.id, changed, gone)
            store.touch(writer, repository)
        with self._lock:
            if former is not None:
                self._loaded.pop(former.id, None)
            self._loaded[repository.id] = (repository.revision + 1, index)


def _new_index(settings: store.IndexSettings) -> CodeIndex:
    return CodeIndex(settings.unit, edges=parse_edges(settings.edges))


def _compare(
    root: Path, old: Mapping[str, bytes], memory: Path
) -> tuple[CodeReceipt, dict[str, SourceFile]]:
    """Compare the tree at ``root`` with the digests of its files when they were indexed.

    Also return the new and changed files. The files of ``memory``, which may lie in the tree, are
    passed over in silence.
    """
    file = memory.resolve()
    own = {file.with_name(file.name + suffix) for suffix in _MEMORY_SUFFIXES}
    seen = [file for file in scan(root) if root / file.path not in own]
    sources = {file.path: file for file in seen if isinstance(file, SourceFile)}
    # A path that cannot be read is not gone: its index stays as it is.
    unreadable = [file.path for file in seen if isinstance(file, UnreadablePath)]
    unread = {p for p in old if any(PurePosixPath(p).is_relative_to(u) for u in unreadable)}
    files = {path: file for path, file in sources.items() if old.get(path) != file.digest}
    receipt = CodeReceipt(
        root=str(root),
        added=tuple(path for path in files if path not in old),
        changed=tuple(path for path in files if path in old),
        removed=tuple(path for path in old if path not in sources and path not in unread),
        unchanged=len(sources) - len(files),
        skipped=tuple(file for file in seen if isinstance(file, Skipped)),
    )
    return receipt, files


def _differing_definitions(
    before: Mapping[str, IndexedFile], fresh: Mapping[str, IndexedFile], removed: Iterable[str]
) -> tuple[set[DefinitionPlace], set[DefinitionPlace]]:
    """Definitions that new versions of files change, and those that are in no file any more."""

    def texts_of(files: Mapping[str, IndexedFile]) -> dict[DefinitionPlace, str]:
        outlines = ((path, file.parsed) for path, file in files.items())
        return {
            (path, each.qualified): parsed.text(each.span)
            for path, parsed in outlines
            for each in parsed.definitions
        }

    old = texts_of({path: before[path] for path in (*fresh, *removed) if path in before})
    new = texts_of(fresh)
    names = {name for _, name in new}
    changed = {place for place, text in old.items() if new.get(place, text) != text}
    return changed, {place for place in old.keys() - new.keys() if place[1] not in names}


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
