"""The formats of documents, their readers and limits, and zip archives within these limits.

This module imports no reader.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from typing import Any

EXTRA = "documents"
PDF_MAGIC = b"%PDF-"

# A format is the name of the function that reads it, in its module.
PDF = "pdf:pages"
HTML = "markup:page"
FORMAT_BY_SUFFIX = {
    ".pdf": PDF,
    ".docx": "markup:word",
    ".epub": "markup:chapters",
    **dict.fromkeys((".html", ".htm", ".xhtml"), HTML),
    **dict.fromkeys((".xlsx", ".xlsm", ".xls", ".ods"), "workbook:sheets"),
}
_HTML_LIBRARIES = ("bs4", "lxml", "markdownify")
LIBRARIES_BY_FORMAT = {  # by the name that is imported
    PDF: ("pypdfium2",),
    HTML: _HTML_LIBRARIES,
    "markup:word": ("mammoth", *_HTML_LIBRARIES),
    "markup:chapters": _HTML_LIBRARIES,
    "workbook:sheets": ("python_calamine",),
}
_MAX_MEMBERS = 50_000
_OLE_MAGIC = b"\xd0\xcf\x11\xe0"  # the container of encrypted documents, and of those before 2007
READABLE = "text, code, chats as JSON, CSV, PDF, Word (.docx), HTML, EPUB and spreadsheets"


class Unreadable(Exception):
    """A document cannot be read: the reason, as a clause that follows the file's name."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of reading one document: bytes of ``memory`` and files, characters of ``text``.

    ``unpacked`` bounds the content of a document that is a zip archive inside.
    """

    seconds: float = 120.0
    memory: int = 1 << 30
    file: int = 128 << 20
    unpacked: int = 256 << 20
    text: int = 64_000_000

    @property
    def exhaustion(self) -> str:
        """The reason for a document that needs too much memory, or makes its reader crash."""
        return (
            f"needs more than {self.memory >> 20:,} MiB of memory, or makes its reader crash: "
            "split it, or save it with another program"
        )


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part of a document: a page, a chapter, some rows. ``place`` identifies it."""

    text: str
    place: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DocumentGap:
    """A part of a document that could not be read, and why."""

    place: str
    reason: str


def open_archive(content: bytes, limits: Limits) -> zipfile.ZipFile:
    """Return the archive. Raise Unreadable if it is broken, encrypted, or unpacks to too much.

    A member may hold more than it says: the library stops at the size that it says, and the
    process has a limit on memory.
    """
    if content.startswith(_OLE_MAGIC):
        raise Unreadable(
            "is encrypted, or of a format before 2007: save a plain copy, and add that"
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Unreadable("is broken, or not what its name says") from error
    if any(member.flag_bits & 1 for member in members):
        raise Unreadable("is encrypted: save a copy without a password, and add that")
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.unpacked or len(members) > _MAX_MEMBERS:
        raise Unreadable(
            f"unpacks to {unpacked >> 20:,} MiB in {len(members):,} files, "
            f"over the limit of {limits.unpacked >> 20:,} MiB in {_MAX_MEMBERS:,}"
        )
    return archive


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a member. Raise Unreadable if it is missing or broken."""
    try:
        return archive.read(name)
    except (KeyError, zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
        raise Unreadable(f"is broken: {name!r} in it cannot be read") from error
