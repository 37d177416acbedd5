"""A folder against what was read from it before: known files, moved ones, and those that are gone.

A source is called after the folder and the file's place in it, ``notes/travel/croatia.md``: short
enough to be shown and typed, and the same on every machine. The path of its file is stored beside
the name, so that a file is found again by its path, and by its digest once it has moved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from treering.ingest.drafts import Envelope
from treering.ingest.files import digest as file_digest
from treering.ingest.files import kind_of
from treering.ingest.front_matter import date_in_name
from treering.journal import sources
from treering.journal.contract import Reader
from treering.journal.sources import FileSource
from treering.text import composed


class KnownFolder:
    """The known files of a space below a folder, and missing ones, before the folder is added."""

    def __init__(self, reader: Reader, space: int, folder: Path, source: str | None) -> None:
        self.root = folder.resolve()
        self._source = source
        files = [file for file in sources.file_sources(reader, space) if file.path is not None]
        self._files = sorted(files, key=lambda file: -len(file.whole))
        # Where the folder is, and where it was when files of it were read that have moved since.
        self._roots = {PurePath(self.root)}
        self._base = source or _base(self.root, files)
        # Of several names of a file the shortest counts.
        self._name_of = {str(file.path): file.whole for file in self._files}
        # Files that are gone, by content and name. Several may have had the same content.
        self._lost: dict[bytes, dict[str, FileSource]] = defaultdict(dict)
        self._original: dict[bytes, Path] = {}
        for file in self._files:
            if file.digest is None:
                continue
            if _is_there(file):
                self.note(Path(str(file.path)), file.digest)
            else:
                self._lost[file.digest][file.whole] = file

    def name(self, path: Path) -> str:
        """The name of a file's source: as before, else after its place in the folder."""
        own = f"{self._base}/{path.relative_to(self.root).as_posix()}"
        return own if self._source is not None else self._name_of.get(str(path), own)

    def find_moved(self, path: Path, digest: bytes) -> FileSource | None:
        """The source of a file that has come here with the same content, if there is one."""
        if str(path) in self._name_of:
            return None
        place = path.relative_to(self.root).parts
        source = self._take_lost(digest, place)
        if source is not None:
            before = PurePath(str(source.path))
            root = PurePath(*before.parts[: -len(place)])
            # Only a missing folder was moved as a whole. From another one a single
            # file came, and its other missing files are not this folder's.
            if before.parts[-len(place) :] == place and not _exists(root):
                self._roots.add(root)
        return source

    def find_original(self, path: Path, digest: bytes, envelope: Envelope) -> str | None:
        """The name of another file of the folder with the content of a new one.

        Notes of two days may be equal: a date in the name tells them apart. So does the name of a
        file of code.
        """
        if (envelope.kind or kind_of(path)) == "code":
            return None
        original = self._original.get(digest)
        if original is None or str(path) in self._name_of or not original.is_relative_to(self.root):
            return None
        # The original may have changed since it was read, and the new file be its old version.
        same = date_in_name(path) == date_in_name(original) and _exists(original)
        return self.name(original) if same and file_digest(original, envelope) == digest else None

    def note(self, path: Path, digest: bytes) -> None:
        """Note a file that is stored: a copy of it need not be."""
        self._original[digest] = path

    def _take_lost(self, digest: bytes, place: tuple[str, ...]) -> FileSource | None:
        """A file that is gone and had this content: of several the one that was in this place."""
        candidates = self._lost.get(digest)
        if not candidates:
            return None
        names = list(candidates)
        ends = (PurePath(str(candidates[name].path)).parts[-len(place) :] for name in names)
        same = [name for name, end in zip(names, ends, strict=True) if end == place]
        return candidates.pop((same or names)[-1])

    def gone(self, reader: Reader, space: int) -> list[str]:
        """The sources of the folder whose files are missing."""
        files = self._below(sources.file_sources(reader, space))
        return list(dict.fromkeys(file.whole for file in files if not _is_there(file)))

    def size(self) -> int:
        """How many of its files were known before it was read."""
        return len({file.whole for file in self._below(self._files)})

    def _below(self, files: Iterable[FileSource]) -> Iterator[FileSource]:
        for file in files:
            path = PurePath(file.path or "")
            if file.path is not None and any(path.is_relative_to(root) for root in self._roots):
                yield file


def _is_there(file: FileSource) -> bool:
    """Whether the file that a source was read from is where it was."""
    return file.path is not None and _exists(PurePath(file.path))


def _exists(path: PurePath) -> bool:
    try:
        return Path(path).exists()
    except OSError:
        return True


def _base(root: Path, sources: Iterable[FileSource]) -> str:
    others = [file for file in sources if not PurePath(str(file.path)).is_relative_to(root)]
    parts = root.parts[1:] or ("root",)
    for length in range(1, len(parts) + 1):
        base = composed("/".join(parts[-length:]))
        taken = (file for file in others if file.name.startswith(f"{base}/"))
        if not any(map(_is_there, taken)):
            return base
    return root.as_posix()
