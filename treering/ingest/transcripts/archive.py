"""Transcripts in a ``.zip``: its members are read where they are.

A copy on the disk would hold every conversation in plain, and outlive a process that is killed.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final, Self

from treering import files
from treering.errors import InputError

MAX_UNPACKED_BYTES: Final = 8 << 30
"""Nothing is written to the disk, so more would only take long."""

MAX_TIMES_PACKED: Final = 100
"""Transcripts shrink to a tenth, and zip bombs, which fill the memory, to a thousandth."""

HARMLESS_BYTES: Final = 256 << 20
"""Archives that unpack to less may shrink to any size."""

MAX_FOLDER_CHARS: Final = 10_000_000
"""Of the paths of all folders and of those above them, which are held in memory. A name of 64 KB
may lie in 32,000 folders, whose paths have 1 GB."""

_SUFFIXES: Final = (".json", ".jsonl", ".txt", ".eml", ".mbox")
"""Of what may be a transcript: pictures and sounds are passed over."""

_UNREADABLE: Final = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)
"""Errors of the library for damaged members."""

TranscriptPath = Path | zipfile.Path
"""A file or folder of transcripts."""


def folder_name(path: TranscriptPath) -> str:
    """Return the name of the folder, or of the archive, that a file is in."""
    if isinstance(path, Path):
        return path.absolute().parent.name
    parent = PurePosixPath(path.at).parent.name
    return parent or Path(str(path.root.filename)).stem


def file_size(path: TranscriptPath) -> int:
    """Return the size of a file, of a member once it is unpacked."""
    if isinstance(path, Path):
        return path.stat().st_size
    return path.root.getinfo(path.at).file_size


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.Path]:
    """The content of an archive as a folder, for the time of the block. Raises InputError."""
    with files.open_file(path) as stream:
        try:
            file = zipfile.ZipFile(stream)
            members = [i for i in file.infolist() if PurePosixPath(i.filename).suffix in _SUFFIXES]
            for member in members:  # no name leads out of the archive
                parts = member.filename.split("/")
                member.filename = "/".join(part for part in parts if part not in ("", ".", ".."))
            if excess := _find_excess(members, path.stat().st_size):
                raise InputError(
                    f"{path} unpacks to {excess} are read. If you trust it, unpack it yourself and "
                    "import the folder"
                )
            if any(member.flag_bits & 1 for member in members):
                raise InputError(f"{path} cannot be unpacked: it is encrypted")
            file.filename = str(path)
            file.filelist = members
            file.NameToInfo = {member.filename: member for member in members}
            yield _ArchivePath(file)
        except (*_UNREADABLE, NotImplementedError) as error:
            raise InputError(f"{path} cannot be unpacked: {error}") from error


def _find_excess(members: Sequence[zipfile.ZipInfo], packed: int) -> str | None:
    size = sum(member.file_size for member in members)
    most = min(MAX_UNPACKED_BYTES, max(HARMLESS_BYTES, MAX_TIMES_PACKED * packed))
    if size > most:
        return f"{size:,} bytes; of its {packed:,} at most {most:,}"
    folders = {member.filename.rpartition("/")[0] for member in members}
    chars = sum(len(folder) * (folder.count("/") + 1) for folder in folders)
    if chars > MAX_FOLDER_CHARS:
        return f"folders with paths of {chars:,} characters; at most {MAX_FOLDER_CHARS:,}"
    return None


class _ArchivePath(zipfile.Path):
    def iterdir(self) -> Iterator[Self]:
        """Look a folder up; the library compares each folder with all names of the archive."""
        names_by_folder = vars(self.root).setdefault("names_by_folder", {})
        for name in () if names_by_folder else dict.fromkeys(self.root.namelist()):
            names_by_folder.setdefault(name.rstrip("/").rpartition("/")[0], []).append(name)
        for name in names_by_folder.get(self.at.rstrip("/"), ()):
            yield type(self)(self.root, name)
