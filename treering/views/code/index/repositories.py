"""The repositories of a space that are indexed: read, held in main memory, brought up to date."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from treering.arrays import Floats
from treering.embed.checked import checked
from treering.embed.contract import Embedder
from treering.errors import JournalBusy, TreeringError, UnknownRepository
from treering.hints import Hint
from treering.journal.space import Space
from treering.records import Progress
from treering.views.choices import Unit, parse_edges, window_of
from treering.views.code.graph.paths import TooManyPaths
from treering.views.code.index import store
from treering.views.code.index.code_index import CodeIndex, IndexedFile, index_file
from treering.views.code.index.indexing import (
    TOO_DEEP,
    TOO_WIDE,
    CodeReceipt,
    FileChange,
    IndexSettings,
    differing_definitions,
    pause_collector,
)
from treering.views.code.parse.language import language_of
from treering.views.code.parse.source_files import SourceFile, tree_state
from treering.views.code.rounds import marks
from treering.views.erase import Eraser
from treering.views.settings import settings_of

log = logging.getLogger("treering")


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
            repository, settings = self._find(str(top)), settings_of(self._space)
            before = repository or settings
            model = repository.model if repository else None
            if embed is not None:
                model = self.embedder.name if embed else None
            want = IndexSettings(unit or before.unit, settings.edges, model)
            window_of(want.unit)  # raises InputError before a file is read
            is_met = want.is_met_by(repository)
            index, old = _new_index(want), dict[str, bytes]()
            if repository is not None and is_met:
                with self._lock:
                    # A copy: the one that is there is being searched.
                    index = self._index(repository).copy()
                with self._space.read() as reader:
                    old = store.digests(reader, repository)
            change = FileChange.compare(top, old, Path(self._space.database.url))
            if change.files or change.removed or not is_met:
                change = self._apply(change, want, index, repository, progress)
            return change.receipt()

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
        if not is_served or repository.model not in (None, self.embedder.name):
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

    def indexes(self) -> list[CodeIndex]:
        """The indexes of all repositories."""
        with self._space.read() as reader:
            indexed = store.repositories(reader, reader.id)
        with self._lock:
            return [self._index(repository) for repository in indexed]

    def roots(self) -> list[str]:
        """The roots of all repositories."""
        with self._space.read() as reader:
            return [repository.root for repository in store.repositories(reader, reader.id)]

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

    def _find(self, root: str) -> store.Repository | None:
        with self._space.read() as reader:
            indexed = store.repositories(reader, reader.id)
        return next((repository for repository in indexed if repository.root == root), None)

    def _repository(self, root: str | Path | None) -> store.Repository:
        """The repository at ``root``, or the only one. Raises UnknownName."""
        with self._space.read() as reader:
            indexed = store.repositories(reader, reader.id)
        if root is not None:
            # As it was indexed, too: it may have become a link since.
            paths = {str(root), str(Path(root).resolve())}
            indexed = [repository for repository in indexed if repository.root in paths]
        if len(indexed) != 1:
            raise _not_the_one(root, self.roots())
        return indexed[0]

    def _index(self, repository: store.Repository) -> CodeIndex:
        """The repository's index, read again if another process has changed it."""
        revision, index = self._loaded.get(repository.id, (None, None))
        if index is None or revision != repository.revision:
            with self._space.read() as reader, pause_collector():
                files, calls = store.load(reader, repository)
                fragments = sum(len(file.fragments) for file in files.values())
                gain = store.gain(reader, repository, fragments)
            index = _new_index(repository)
            index.restore(files, calls, gain)
            self._loaded[repository.id] = (repository.revision, index)
        return index

    def _index_files(
        self, fresh: Mapping[str, SourceFile], want: IndexSettings, progress: Progress | None
    ) -> dict[str, IndexedFile]:
        files: dict[str, IndexedFile] = {}
        for path, source in fresh.items():
            try:
                file = index_file(source.text, path, language_of(path), want.unit)
            except RecursionError:  # skipped: such a file is generated
                continue
            if want.model is not None:
                file = replace(file, vectors=self._vectors(file))
            files[path] = file
            if progress is not None:
                progress(len(files), len(fresh))
        return files

    def _vectors(self, file: IndexedFile) -> Floats:
        texts = [file.fragment_text(lines) for lines in file.fragments]
        if not texts:
            return np.zeros((0, self.embedder.dimension), dtype=np.float32)
        return checked(self.embedder, texts)

    def _apply(
        self,
        change: FileChange,
        want: IndexSettings,
        index: CodeIndex,
        former: store.Repository | None,
        progress: Progress | None,
    ) -> FileChange:
        """Bring ``index`` and the database up to date; the index is used once both are.

        Return the change without the files that nest too deeply or begin too many paths.
        """
        files = self._index_files(change.files, want, progress)
        change = change.without(change.files.keys() - files.keys(), TOO_DEEP)
        before, former_files = dict(index.calls), index.files
        while True:
            try:
                index.update(files, change.removed)
                break
            except TooManyPaths as error:
                change = change.without(error.files, TOO_WIDE)
                files = {path: files[path] for path in change.files}
        changed, gone = differing_definitions(former_files, files, change.removed)
        digests = {path: change.files[path].digest for path in files}
        resolved_again = {
            path: calls
            for path, calls in index.calls.items()
            if path not in files and before[path] is not calls
        }
        with self._space.write() as writer:
            goes_on = want.is_met_by(former)
            if former is not None and not goes_on:
                store.drop(writer, former)
            repository = store.add(writer, writer.id, change.root, *want)
            if repository != (former if goes_on else replace(repository, revision=0)):
                raise JournalBusy(f"another process has just indexed {change.root}; index it again")
            store.delete(writer, repository, change.removed)
            store.save_files(writer, repository, files, digests, index.calls)
            store.save_calls(writer, repository, resolved_again)
            marks.save_noticed(writer, writer.id, repository.id, changed, gone)
            store.save_gain(writer, repository, len(index), index.gain)
            store.touch(writer, repository)
        with self._lock:
            if former is not None:
                self._loaded.pop(former.id, None)
            self._loaded[repository.id] = (repository.revision + 1, index)
        return change


def _new_index(settings: IndexSettings | store.Repository) -> CodeIndex:
    return CodeIndex(settings.unit, edges=parse_edges(settings.edges))


def _not_the_one(root: str | Path | None, indexed: Sequence[str]) -> UnknownRepository:
    """Return the error for a ``root`` that does not name one of the indexed repositories."""
    if not indexed:
        return UnknownRepository("no repository is indexed")
    listed = ", ".join(indexed)
    if root is None:
        message = f"more than one repository is indexed: {listed}"
        return UnknownRepository(message, hint=Hint.CHOOSE_REPOSITORY, param="root")
    return UnknownRepository(f"{root} is not indexed; indexed are: {listed}", param="root")
