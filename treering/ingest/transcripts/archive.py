"""Transcripts in a ``.zip``: its members are read where they are.

A copy on the disk would hold every conversation in plain, and outlive a process that is killed.
"""

from __future__ import annotations

import io
import lzma
import os
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, cast

from treering import files
from treering.errors import InputError

MAX_UNPACKED_BYTES: Final = 8 << 30
MAX_TIMES_PACKED: Final = 100
"""The largest unpacked size of a transcript: they shrink to a tenth, and zip bombs to a
thousandth."""

HARMLESS_BYTES: Final = 256 << 20
"""Archives that unpack to less are not asked how much they shrank."""

MAX_PACKED_FILES: Final = 200_000
"""A workspace of 200 channels and three years has that many days."""

MAX_DEPTH: Final = 100
"""Folders within folders: exports have three, and each costs time for each name."""

_SUFFIXES: Final = (".json", ".jsonl", ".txt", ".eml", ".mbox")
"""Of what may be a transcript: pictures and sounds are passed over."""

_UNREADABLE: Final = (
    *(zipfile.BadZipFile, RuntimeError, NotImplementedError),
    *(OSError, EOFError, zlib.error, lzma.LZMAError),
)
"""Errors of the library for damaged, encrypted or differently packed members."""


class PackedPath(files.VirtualFile):
    """A file or folder of an archive, looked at and read as a ``Path`` is."""

    def __init__(self, archive: _Archive, place: PurePosixPath) -> None:
        super().__init__(place, str(archive.path.joinpath(*place.parts[1:])))
        self._archive = archive
        self._place = place

    @property
    def parent(self) -> PackedPath:
        """The folder that it is in."""
        return PackedPath(self._archive, self._place.parent)

    def __truediv__(self, name: str) -> PackedPath:
        return PackedPath(self._archive, self._place / name)

    def __lt__(self, other: PackedPath) -> bool:
        return self._place < other._place

    def is_file(self) -> bool:
        """Whether it is a file."""
        return self._place in self._archive.members

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return self._place in self._archive.children

    def iterdir(self) -> Iterator[PackedPath]:
        """The children of the folder."""
        return (PackedPath(self._archive, place) for place in self._archive.children[self._place])

    def stat(self) -> os.stat_result:
        """Its size according to the archive, and the most that is unpacked."""
        size = self._archive.members[self._place].file_size
        return os.stat_result((0, 0, 0, 1, 0, 0, size, 0, 0, 0))

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Its bytes. Raises InputError for a member that cannot be read."""
        member = self._archive.members[self._place]
        with _translate_errors(str(self)), self._archive.file.open(member) as stream:
            yield io.BufferedReader(cast(io.RawIOBase, stream))


TranscriptPath = Path | PackedPath
"""A file or folder of transcripts."""


class _Archive:
    """An open archive, by the places of its members below a folder that is called as it is."""

    def __init__(
        self, path: Path, file: zipfile.ZipFile, members: Iterable[zipfile.ZipInfo]
    ) -> None:
        self.path = path
        self.file = file
        self.root = PurePosixPath(path.stem)
        self.members: dict[PurePosixPath, zipfile.ZipInfo] = {}
        self.children: defaultdict[PurePosixPath, dict[PurePosixPath, None]] = defaultdict(dict)
        for member in members:
            place = self.root.joinpath(*_parts(member.filename))
            if len(place.parts) > MAX_DEPTH:
                raise InputError(
                    f"{path} cannot be unpacked: it has over {MAX_DEPTH} folders in each other"
                )
            self.members[place] = member
            while place != self.root and place not in self.children[place.parent]:
                self.children[place.parent][place] = None
                place = place.parent


def _parts(name: str) -> list[str]:
    """The steps of a member's name, none of which leads out of the archive."""
    return [part for part in name.split("/") if part not in ("", ".", "..")]


@contextmanager
def open_archive(path: Path) -> Iterator[PackedPath]:
    """The content of an archive as a folder, for the time of the block. Raises InputError."""
    with files.open_file(path) as stream:
        with _translate_errors(str(path)):
            file = zipfile.ZipFile(stream)
        with file:
            members = [i for i in file.infolist() if PurePosixPath(i.filename).suffix in _SUFFIXES]
            if reason := _excess(members, path.stat().st_size):
                raise InputError(
                    f"{path} unpacks to {reason}. If you trust it, unpack it yourself and import "
                    "the folder"
                )
            archive = _Archive(path, file, members)
            yield PackedPath(archive, archive.root)


def _excess(members: list[zipfile.ZipInfo], packed: int) -> str | None:
    size = sum(info.file_size for info in members)
    if size > MAX_UNPACKED_BYTES:
        return f"{size:,} bytes; at most {MAX_UNPACKED_BYTES:,} are unpacked"
    if size > max(HARMLESS_BYTES, MAX_TIMES_PACKED * packed):
        times = f"{size // packed:,} times its size; at most {MAX_TIMES_PACKED} are unpacked"
        return f"{size:,} bytes, {times}"
    if len(members) > MAX_PACKED_FILES:
        return f"{len(members):,} files; at most {MAX_PACKED_FILES:,} are unpacked"
    return None


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise InputError(f"{name} cannot be unpacked: {error}") from error
