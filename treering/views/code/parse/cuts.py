"""A source file cut into fragments: sliding windows (FragRel B.2) or blocks along definitions."""

from __future__ import annotations

from typing import NamedTuple

from treering.views.choices import Unit, window_of
from treering.views.code.parse.outline import NONE, CodeDefinition, ParsedFile

BLOCK_LINES = 40
"""Longer definitions are cut where their members begin, or every so many lines: about two
windows, so that a block holds a whole function more often than not."""


class Lines(NamedTuple):
    """A fragment's place in its file: lines from 1, inclusive."""

    first: int
    last: int
    definition: int
    """The index of the innermost definition that holds all of it, or ``NONE``."""


def cut(parsed: ParsedFile, unit: Unit) -> tuple[Lines, ...]:
    """The fragments of a file in order; without blank ones. Raise InputError."""
    lines, fragments = parsed.lines(), list[Lines]()
    if window := window_of(unit):
        size, overlap = window
        for at in range(0, max(len(lines) - overlap, 1), size - overlap):
            fragments.append(Lines(at + 1, min(at + size, len(lines)), NONE))
    else:
        _cut_range(parsed.definitions, 1, len(lines), NONE, fragments)
    return tuple(
        piece
        for piece in fragments
        if any(line.strip() for line in lines[piece.first - 1 : piece.last])
    )


def _cut_range(
    definitions: tuple[CodeDefinition, ...],
    first: int,
    last: int,
    owner: int,
    fragments: list[Lines],
) -> None:
    """Cut lines ``first`` to ``last`` of ``owner`` along the definitions right inside it."""
    at = first
    for index, definition in enumerate(definitions):
        span = definition.span
        if definition.parent != owner or span.first_line < at or span.last_line > last:
            continue
        begin = max(at, definition.first_line)
        fragments.extend(_pieces(at, begin - 1, owner))
        if span.last_line - begin < BLOCK_LINES:
            fragments.append(Lines(begin, span.last_line, index))
        else:
            _cut_range(definitions, begin, span.last_line, index, fragments)
        at = span.last_line + 1
    fragments.extend(_pieces(at, last, owner))


def _pieces(first: int, last: int, owner: int) -> list[Lines]:
    """Lines ``first`` to ``last`` in even pieces of at most ``BLOCK_LINES``."""
    length = last - first + 1
    count = max(-(-length // BLOCK_LINES), 1)
    bounds = [first + length * i // count for i in range(count)]
    return [
        Lines(begin, end - 1, owner)
        for begin, end in zip(bounds, [*bounds[1:], last + 1], strict=True)
        if begin < end
    ]
