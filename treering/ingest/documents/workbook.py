"""Spreadsheets (.xlsx, .xls, .ods): the values of each sheet, below the names of its columns."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

import python_calamine

from treering.ingest.documents import table
from treering.ingest.documents.formats import (
    DocumentGap,
    DocumentPart,
    Limits,
    Unreadable,
    open_archive,
)

_ZIP_MAGIC = b"PK"
_NOT_IN_PLACES = re.compile(r"[#\s]+")
Value = int | float | str | bool | time | date | datetime | timedelta


def sheets(content: bytes, limits: Limits) -> Iterator[DocumentPart | DocumentGap]:
    """Yield pieces of each sheet that has text.

    Raise Unreadable if the spreadsheet is broken, encrypted or empty.
    """
    if content.startswith(_ZIP_MAGIC):
        open_archive(content, limits)
    workbook = _open(content)
    readable = False
    for name in workbook.sheet_names:
        place = _NOT_IN_PLACES.sub(" ", name)
        try:
            sheet = workbook.get_sheet_by_name(name)
        except python_calamine.CalamineError:  # a sheet that is a chart lacks cells
            continue
        rows = ((number, list(map(_text, row))) for number, row in enumerate(sheet.iter_rows(), 1))
        for piece in table.pieces(rows):
            readable = True
            yield DocumentPart(piece.text, place, {"sheet": name, "rows": piece.label})
    if not readable:
        raise Unreadable("has no filled cells")


def _open(content: bytes) -> python_calamine.CalamineWorkbook:
    try:
        return python_calamine.load_workbook(io.BytesIO(content))
    except python_calamine.PasswordError as error:
        raise Unreadable("is encrypted: save a copy without a password, and add that") from error
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise Unreadable("is broken, or not a spreadsheet") from error


def _text(value: Value) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes") if value.time() != time() else str(value.date())
    return str(value)
