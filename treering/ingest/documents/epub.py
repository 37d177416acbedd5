"""EPUB books: a part for each chapter, in reading order."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote

from bs4 import BeautifulSoup, Tag

from treering.ingest.documents import archive, markup
from treering.ingest.documents.formats import DocumentGap, DocumentPart, Limits, Unreadable

_CONTAINER = "META-INF/container.xml"


def parts(content: bytes, limits: Limits) -> Iterator[DocumentPart | DocumentGap]:
    """The chapters that have text, numbered in reading order.

    Raises Unreadable if the book is broken, encrypted or has no text.
    """
    book = archive.check(content, limits)
    readable = False
    for number, name in enumerate(_chapters(book), start=1):
        try:
            text = markup.to_text(archive.member(book, name))
        except Unreadable as error:
            yield DocumentGap(str(number), str(error))
            continue
        if text:
            readable = True
            yield DocumentPart(text, str(number), {"chapter": number})
    if not readable:
        raise Unreadable("has no text in its chapters")


def _chapters(book: zipfile.ZipFile) -> list[str]:
    """The names of the chapters' files in the archive, as the book's spine lists them."""
    # The parser of HTML takes XML for tags alone: no entity is expanded, and no file is fetched.
    container = BeautifulSoup(archive.member(book, _CONTAINER), "html.parser")
    root = next(_elements(container, "rootfile"), None)
    if root is None:
        raise Unreadable(f"is broken: {_CONTAINER!r} names no book")
    package_name = unquote(str(root.get("full-path", "")))
    package = BeautifulSoup(archive.member(book, package_name), "html.parser")
    folder = posixpath.dirname(package_name)
    name_by_id = {
        item.get("id"): posixpath.normpath(
            posixpath.join(folder, unquote(str(item.get("href", ""))))
        )
        for item in _elements(package, "item")
    }
    references = [reference.get("idref") for reference in _elements(package, "itemref")]
    return [name_by_id[reference] for reference in references if reference in name_by_id]


def _elements(soup: BeautifulSoup, name: str) -> Iterator[Tag]:
    """The elements of a name, whatever prefix their namespace has."""
    return (tag for tag in soup.find_all(True) if tag.name.rpartition(":")[2] == name)
