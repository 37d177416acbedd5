"""HTML: the text that a reader sees, as Markdown, without tags, scripts and menus."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

from treering.ingest.documents.formats import DocumentGap, DocumentPart, Limits, Unreadable
from treering.ingest.documents.styles import PageStyles

_UNSEEN = [
    *("script", "style", "noscript", "template", "head", "svg", "canvas", "iframe", "object"),
    *("embed", "nav", "dialog", "button", "select", "input", "textarea", "video", "audio"),
]
# Blocks that the converter takes for a part of a line: their text would stick to the next word.
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


def parts(content: bytes, _limits: Limits) -> Iterator[DocumentPart | DocumentGap]:
    """The page as one part. Raises Unreadable if it has no text."""
    text = to_text(content)
    if not text:
        raise Unreadable("is HTML without text: a program may write it when the page is opened")
    yield DocumentPart(text)


def to_text(content: bytes | str) -> str:
    """The text of an HTML page under its title. Raises Unreadable if it nests too deep."""
    try:
        soup = BeautifulSoup(content, "lxml")
        title = soup.title.get_text(" ", strip=True) if soup.title else ""
        styles = PageStyles(soup)
        for element in soup.find_all(lambda element: _is_unseen(element) or styles.hides(element)):
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
    return (
        element.name in _UNSEEN or "hidden" in attributes or attributes.get("aria-hidden") == "true"
    )
