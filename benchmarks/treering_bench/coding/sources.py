"""The indexed projects of a code benchmark; one file at a time is exchanged for one with a hole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from treering.arrays import Floats
from treering.embed.contract import Embedder
from treering.errors import InputError
from treering.records import Skipped
from treering.views.choices import Unit
from treering.views.code.index.code_index import CodeIndex, IndexedFile, index_file
from treering.views.code.parse.source_files import SourceFile, scan
from treering_bench.coding.task import CodeTask, definitions

_TESTS = re.compile(r"(^|/)(tests?|testing)(/|_|\.)|_test\.py$|\.dist-info")
_LETTERS = re.compile(r"[^a-z0-9]")


def project_folder(name: str, sources: Path) -> str | None:
    """The folder of a project; None if there is none. Names are compared by letters and digits."""
    if not sources.is_dir():
        raise InputError(
            f"there is no folder {sources} with a folder for each project; pass it with --sources"
        )
    plain = _LETTERS.sub("", name.lower())
    folders = sorted(folder.name for folder in sources.iterdir() if folder.is_dir())
    return next((folder for folder in folders if plain in _LETTERS.sub("", folder.lower())), None)


def source_text(sources: Path, project: str | None, path: str) -> str | None:
    """The text of a project's file, or None where there is none inside the project's folder."""
    if project is None:
        return None
    root = (sources / project).resolve()
    file = (root / path).resolve()
    if not file.is_relative_to(root) or not file.is_file():
        return None
    return file.read_text(encoding="utf-8", errors="replace")


class Hole:
    """A project while the code of one task is missing from one of its files."""

    def __init__(self, projects: Projects, task: CodeTask, opened: ExitStack) -> None:
        self._projects = projects
        self._task = task
        self._opened = opened
        self._indexes: dict[Unit, CodeIndex] = {}

    def index(self, unit: Unit) -> CodeIndex:
        """The index of the project, its files cut into blocks or windows."""
        if unit not in self._indexes:
            cut_out = self._projects.cut_out(self._task, unit)
            self._indexes[unit] = self._opened.enter_context(cut_out)
        return self._indexes[unit]

    def vector(self, query: str) -> Floats:
        """The vector of a query."""
        embedder = self._projects.embedder
        assert embedder is not None
        vector: Floats = embedder.embed([query], query=True)[0]
        return vector


class Projects:
    """Indexes by project, built when a task first needs them. ``embedder`` adds vectors to them."""

    def __init__(self, sources: Path, embedder: Embedder | None = None) -> None:
        self._sources = sources
        self.embedder = embedder
        self._indexes: dict[tuple[str, Unit], CodeIndex] = {}

    @contextmanager
    def hole(self, task: CodeTask) -> Iterator[Hole]:
        """The project of a task, without the code to be written."""
        with ExitStack() as opened:
            yield Hole(self, task, opened)

    @contextmanager
    def cut_out(self, task: CodeTask, unit: Unit) -> Iterator[CodeIndex]:
        """The index of a task's project while the code to be written is missing from it."""
        index = self._index(task.project, unit)
        index.update({task.path: self._indexed(task.path, task.text, unit)})
        try:
            yield index
        finally:
            whole = source_text(self._sources, task.project, task.path) or ""
            index.update({task.path: self._indexed(task.path, whole, unit)})

    def _index(self, project: str, unit: Unit) -> CodeIndex:
        if (project, unit) not in self._indexes:
            files = project_files(self._sources / project)
            index = CodeIndex(unit)
            index.update({file.path: self._indexed(file.path, file.text, unit) for file in files})
            self._indexes[project, unit] = index
        return self._indexes[project, unit]

    def _indexed(self, path: str, text: str, unit: Unit) -> IndexedFile:
        file = index_file(text, path, "python", unit)
        if self.embedder is None:
            return file
        texts = [file.fragment_text(lines) for lines in file.fragments]
        vectors = self.embedder.embed(texts) if texts else self.embedder.embed(["x"])[:0]
        return replace(file, vectors=vectors)


@cache
def defined_names(sources: Path, project: str) -> frozenset[str]:
    """The names that the files of a project define."""
    return frozenset().union(*(definitions(file.text) for file in project_files(sources / project)))


def project_files(root: Path) -> Iterator[SourceFile]:
    """The Python files of a project without its tests."""
    for file in scan(root):
        if isinstance(file, Skipped) or _TESTS.search(file.path):
            continue
        if file.path.endswith(".py"):
            yield file
