"""Word documents (.docx), by way of HTML: headings, lists, tables and footnotes keep their form."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from xml.parsers.expat import ExpatError

import mammoth

from treering.ingest.documents import archive, markup
from treering.ingest.documents.formats import DocumentGap, DocumentPart, Limits, Unreadable


def parts(content: bytes, limits: Limits) -> Iterator[DocumentPart | DocumentGap]:
    """The document as one part: it has pages only where it is printed.

    Raises Unreadable if it is broken, encrypted or without text.
    """
    archive.check(content, limits)
    try:
        converted = mammoth.convert_to_html(io.BytesIO(content), convert_image=_no_image)
    except RecursionError as error:
        raise Unreadable("has elements that nest too deep to be read") from error
    except (KeyError, ValueError, OSError, ExpatError, zipfile.BadZipFile) as error:
        raise Unreadable("is broken, or not a Word document") from error
    text = markup.to_text(converted.value)
    if not text:
        raise Unreadable("has no text")
    yield DocumentPart(text)


def _no_image(_image: object) -> list[object]:
    return []
