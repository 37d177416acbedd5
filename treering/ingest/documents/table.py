"""Rows of a table as pieces of text, each with the names of the columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

MAX_PIECE_CHARS = 1_000
"""No longer than a fragment of a text, so that each hit holds the names of its columns."""

_MAX_HEADER_CHARS = 300
_ROWS_ABOVE = 10  # a title and remarks may precede the names of the columns
_SNIFFED_CHARS = 8_192
_SPACE = re.compile(r"\s+")
_LETTER = re.compile(r"[^\W\d_]")

Row = tuple[int, Sequence[str]]
"""Its number in the file, from 1, and its cells."""


@dataclass(frozen=True, slots=True)
class TablePiece:
    """Some rows of a table, from the row ``first`` to ``last``."""

    text: str
    first: int
    last: int

    @property
    def label(self) -> str:
        """The numbers of the rows, such as ``2-41``."""
        return f"{self.first}-{self.last}" if self.first != self.last else str(self.first)


def csv_rows(blocks: Iterable[str], delimiter: str | None = None) -> Iterator[Row]:
    """The rows of a CSV text with their line numbers; cells in quotes may span lines.

    The delimiter, if none is given, is found in the first lines. Raises csv.Error.
    """
    lines = _lines(blocks)
    head = list(islice(lines, 100))
    delimiter = delimiter or _delimiter("".join(head)[:_SNIFFED_CHARS])
    reader = csv.reader(chain(head, lines), delimiter=delimiter)
    number = 1
    for cells in reader:
        yield number, cells
        number = reader.line_num + 1


def pieces(rows: Iterable[Row], limit: int = MAX_PIECE_CHARS) -> Iterator[TablePiece]:
    """The rows that have text, as many as fit in ``limit`` characters at a time, below the header.

    A row that does not fit is written as one ``name: value`` a line.
    """
    names, header, body = _split((number, _clean(cells)) for number, cells in rows)
    head_size = len(header) + 1
    collected: list[tuple[int, str]] = []
    size = head_size
    for number, cells in body:
        line = " | ".join(cells)
        alone = head_size + len(line) > limit
        if collected and (alone or size + len(line) > limit):
            yield _piece(header, collected)
            collected, size = [], head_size
        if alone:
            yield TablePiece(_record(names, cells), number, number)
        else:
            collected.append((number, line))
            size += len(line) + 1
    if collected:
        yield _piece(header, collected)


def _split(rows: Iterator[Row]) -> tuple[Sequence[str], str, Iterator[Row]]:
    """The names of the columns, the text above each piece, and the rows below the header.

    The text is a title and the names. A table of numbers alone lacks a header.
    """
    filled = ((number, cells) for number, cells in rows if any(cells))
    top = list(islice(filled, _ROWS_ABOVE))
    place = next((index for index, (_, cells) in enumerate(top) if _names_columns(cells)), None)
    if place is None and len(top) > 1 and all(len(cells) == 1 for _, cells in top):
        place = 0 if _LETTER.search(top[0][1][0]) else None  # a list with a heading
    if place is None or place + 1 == len(top):  # nothing below it: rows that are not a header
        return (), "", chain(top, filled)
    names = top[place][1]
    above = [" ".join(filter(None, cells)) for _, cells in top[:place]]
    text = "\n".join([*above, " | ".join(names)])
    if len(text) > _MAX_HEADER_CHARS:
        text = " | ".join(names)
    return names, text, chain(top[place + 1 :], filled)


def _names_columns(cells: Sequence[str]) -> bool:
    """Whether a row may be the names of columns: two cells are filled, and one has a letter."""
    return sum(map(bool, cells)) > 1 and any(map(_LETTER.search, cells))


def _piece(header: str, rows: Sequence[tuple[int, str]]) -> TablePiece:
    lines = [header] if header else []
    return TablePiece("\n".join([*lines, *(line for _, line in rows)]), rows[0][0], rows[-1][0])


def _record(names: Sequence[str], cells: Sequence[str]) -> str:
    labels = [*names, *(f"column {number}" for number in range(len(names) + 1, len(cells) + 1))]
    pairs = zip(labels, cells, strict=False)
    return "\n".join(f"{label}: {cell}" if label else cell for label, cell in pairs if cell)


def _clean(cells: Sequence[str]) -> list[str]:
    """Each cell on one line, without the empty ones at the end."""
    cleaned = [_SPACE.sub(" ", cell).strip() for cell in cells]
    while cleaned and not cleaned[-1]:
        cleaned.pop()
    return cleaned


def _lines(blocks: Iterable[str]) -> Iterator[str]:
    """The lines of a text that comes in blocks, with their ends."""
    rest = ""
    for block in blocks:
        *lines, rest = io.StringIO(rest + block, newline="")
        yield from lines
    if rest:
        yield rest


def _delimiter(head: str) -> str:
    try:
        return csv.Sniffer().sniff(head, delimiters=",;\t|").delimiter
    except csv.Error:
        return ","
