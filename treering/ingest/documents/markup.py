"""HTML pages, EPUB books and Word documents as Markdown, without tags, scripts and menus.

The chapters of a book are HTML; ``mammoth`` writes a Word document as HTML.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from urllib.parse import unquote
from xml.parsers.expat import ExpatError

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

from treering.ingest.documents.formats import (
    DocumentGap,
    DocumentPart,
    Limits,
    Unreadable,
    open_archive,
    read_member,
)

_UNSEEN = [
    *("script", "style", "noscript", "template", "head", "svg", "canvas", "iframe", "object"),
    *("embed", "nav", "dialog", "button", "select", "input", "textarea", "video", "audio"),
]
_HIDING_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.I)
_ALWAYS_SEEN = ("html", "body")  # a script shows a page that hides itself as a whole
# The converter takes these blocks for parts of a line: their text would stick to the next word.
_BLOCKS = [
    *("main", "header", "footer", "aside", "hgroup", "address", "center", "search", "figure"),
    *("details", "summary", "form", "fieldset", "legend", "optgroup", "option", "menu"),
]
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")
_CONVERTER = MarkdownConverter(
    heading_style="ATX",
    bullets="-",
    strip=["a", "img"],  # their texts stay; addresses and pictures say nothing in a prompt
    escape_asterisks=False,
    escape_underscores=False,
    table_infer_header=True,
)
_CONTAINER = "META-INF/container.xml"  # names the package of a book, which lists the chapters


def page(content: bytes, _limits: Limits) -> Iterator[DocumentPart | DocumentGap]:
    """Yield an HTML page as one part. Raise Unreadable without text."""
    text = _to_text(content)
    if not text:
        raise Unreadable("is HTML without text: a program may write it when the page is opened")
    yield DocumentPart(text)


def chapters(content: bytes, limits: Limits) -> Iterator[DocumentPart | DocumentGap]:
    """Yield the chapters of an EPUB book that have text, numbered in reading order.

    Raise Unreadable if the book is broken, encrypted or without text.
    """
    book = open_archive(content, limits)
    readable = False
    for number, name in enumerate(_chapter_names(book), start=1):
        try:
            text = _to_text(read_member(book, name))
        except Unreadable as error:
            yield DocumentGap(str(number), str(error))
            continue
        if text:
            readable = True
            yield DocumentPart(text, str(number), {"chapter": number})
    if not readable:
        raise Unreadable("has no text in its chapters")


def word(content: bytes, limits: Limits) -> Iterator[DocumentPart | DocumentGap]:
    """Yield a Word document as one part: only a printer divides it into pages.

    Raise Unreadable if the document is broken, encrypted or without text.
    """
    import mammoth  # pages and books do not need it

    open_archive(content, limits)
    try:
        html = mammoth.convert_to_html(io.BytesIO(content), convert_image=lambda _image: []).value
    except RecursionError as error:
        raise Unreadable("has elements that nest too deep to be read") from error
    except (KeyError, ValueError, OSError, ExpatError, zipfile.BadZipFile) as error:
        raise Unreadable("is broken, or not a Word document") from error
    text = _to_text(html)
    if not text:
        raise Unreadable("has no text")
    yield DocumentPart(text)


def _to_text(content: bytes | str) -> str:
    """Return the text of HTML under its title. Raise Unreadable if it nests too deep."""
    try:
        soup = BeautifulSoup(content, "lxml")
        title = soup.title.get_text(" ", strip=True) if soup.title else ""
        for element in soup.find_all(_is_unseen):
            element.decompose()
        for block in soup.find_all(_BLOCKS):
            block.name = "div"
        body = _CONVERTER.convert_soup(soup).strip()
    except RecursionError as error:
        raise Unreadable("has elements that nest too deep to be read") from error
    text = _BLANK_LINES.sub("\n\n", body)
    return f"# {title}\n\n{text}" if title and text and title not in text else text


def _is_unseen(element: Tag) -> bool:
    attributes = element.attrs
    if element.name in _UNSEEN or "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    hiding = _HIDING_STYLE.search(str(attributes.get("style", "")))
    return hiding is not None and element.name not in _ALWAYS_SEEN


def _chapter_names(book: zipfile.ZipFile) -> list[str]:
    """Return the names of the chapters in the archive, in the order of the book's spine."""
    # The parser of HTML takes XML for tags alone: it expands no entity and fetches no file.
    container = BeautifulSoup(read_member(book, _CONTAINER), "html.parser")
    roots = container.find_all(re.compile("(^|:)rootfile$"))  # a namespace may have any prefix
    if not roots:
        raise Unreadable(f"is broken: {_CONTAINER!r} names no book")
    package_name = unquote(str(roots[0].get("full-path")))
    package = BeautifulSoup(read_member(book, package_name), "html.parser")
    folder = posixpath.dirname(package_name)
    name_by_id = {
        item.get("id"): posixpath.normpath(posixpath.join(folder, unquote(str(item.get("href")))))
        for item in package.find_all(re.compile("(^|:)item$"))
    }
    spine = [item.get("idref") for item in package.find_all(re.compile("(^|:)itemref$"))]
    return [name_by_id[reference] for reference in spine if reference in name_by_id]
