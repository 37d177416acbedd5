"""Transcripts in a ``.zip``: its members are read where they are.

A copy on the disk would hold every conversation in plain, and outlive a process that is killed.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from treering import files
from treering.errors import InputError

MAX_UNPACKED_BYTES: Final = 8 << 30
"""Nothing is written to the disk, so more would only take long."""

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
            if (size := sum(member.file_size for member in members)) > MAX_UNPACKED_BYTES:
                raise InputError(
                    f"{path} unpacks to {size:,} bytes; at most {MAX_UNPACKED_BYTES:,} are read. "
                    "If you trust it, unpack it yourself and import the folder"
                )
            if any(member.flag_bits & 1 for member in members):
                raise InputError(f"{path} cannot be unpacked: it is encrypted")
            file.filename = str(path)
            file.filelist = members
            file.NameToInfo = {member.filename: member for member in members}
            yield zipfile.Path(file)
        except (*_UNREADABLE, NotImplementedError) as error:
            raise InputError(f"{path} cannot be unpacked: {error}") from error
