"""PDF: the text of each page, by PDFium, in the order in which the file's program wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pypdfium2
import pypdfium2.raw as pdfium

from treering.ingest.documents.formats import DocumentGap, DocumentPart, Limits, Unreadable

_HYPHEN_AT_LINE_END = re.compile("[\ufffe\x02]\r?\n?")


def pages(content: bytes, _limits: Limits) -> Iterator[DocumentPart | DocumentGap]:
    """Yield a part for each page with text, and a gap for each that is a picture.

    Raise Unreadable if the document is broken or encrypted, or without text.
    """
    document = _open(content)
    pictures = []
    readable = False
    for index in range(len(document)):
        text, is_picture = _page(document, index)
        if text.strip():
            readable = True
            yield DocumentPart(text, str(index + 1), {"page": index + 1})
        elif is_picture:
            pictures.append(index + 1)
    if not readable:
        scan = (
            f"; pages that are pictures (a scan): {len(pictures)} of {len(document)}. "
            "Recognise the text first, for example with ocrmypdf, and add the result"
        )
        raise Unreadable(f"has no text on any page{scan if pictures else ''}")
    for number in pictures:
        yield DocumentGap(str(number), "the page is a picture without text")


def _open(content: bytes) -> pypdfium2.PdfDocument:
    try:
        document = pypdfium2.PdfDocument(content)
        if not len(document):
            raise Unreadable("is a PDF without pages")
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise Unreadable(
                "is encrypted: save a copy without a password, and add that"
            ) from error
        raise Unreadable("is broken, or not a PDF") from error
    return document


def _page(document: pypdfium2.PdfDocument, index: int) -> tuple[str, bool]:
    """Return the text of a page, and whether it shows a picture. A broken page has neither."""
    try:
        page = document[index]
    except pypdfium2.PdfiumError:
        return "", False
    try:
        text_page = page.get_textpage()
        text = text_page.get_text_bounded()
        text_page.close()
        is_picture = not text.strip() and any(
            page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3)
        )
    finally:
        page.close()
    return _HYPHEN_AT_LINE_END.sub("", text).replace("\r\n", "\n"), is_picture
