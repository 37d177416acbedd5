"""Which files are documents, and what reads them. This module imports no library that does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

EXTRA = "documents"
PDF_MAGIC = b"%PDF-"

FORMAT_BY_SUFFIX = {  # a format is called as the module is that reads it
    ".pdf": "pdf",
    ".docx": "word",
    ".html": "markup",
    ".htm": "markup",
    ".xhtml": "markup",
    ".epub": "epub",
    ".xlsx": "workbook",
    ".xlsm": "workbook",
    ".xls": "workbook",
    ".ods": "workbook",
}
MODULES_BY_FORMAT = {  # by the name that is imported
    "pdf": ("pypdfium2",),
    "word": ("mammoth", "bs4", "lxml", "markdownify"),
    "markup": ("bs4", "lxml", "markdownify"),
    "epub": ("bs4", "lxml", "markdownify"),
    "workbook": ("python_calamine",),
}
READABLE = "text, code, chats as JSON, CSV, PDF, Word (.docx), HTML, EPUB and spreadsheets"


class Unreadable(Exception):
    """A document cannot be read: the reason, as a clause that follows the file's name."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one document may take: bytes of ``memory`` and files, characters of ``text``.

    ``unpacked`` bounds the content of a document that is a zip archive inside.
    """

    seconds: float = 120.0
    memory: int = 1 << 30
    file: int = 128 << 20
    unpacked: int = 256 << 20
    text: int = 64_000_000

    @property
    def exhausted(self) -> str:
        """The reason for a document that needs too much memory, or makes its reader crash."""
        return (
            f"needs more than {self.memory >> 20:,} MiB of memory, or makes its reader crash: "
            "split it, or save it anew with another program"
        )


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A part of a document: a page, a chapter, some rows. ``place`` tells it from the others."""

    text: str
    place: str | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class DocumentGap:
    """A part of a document that could not be read, and why."""

    place: str
    reason: str
