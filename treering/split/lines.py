"""Code to fragments: overlapping windows of lines (FragRel, section on code completion)."""

from __future__ import annotations

from itertools import accumulate

from treering.split.text import Span, spans

WINDOW_LINES = 20
OVERLAP_LINES = 10
MAX_WINDOW_CHARS = 8_000  # a window of longer lines is data or minified: cut like text


def windows(text: str, size: int = WINDOW_LINES, overlap: int = OVERLAP_LINES) -> list[Span]:
    """Spans of ``size`` lines, each beginning ``size - overlap`` lines after the one before it."""
    lines = text.splitlines(keepends=True)
    offsets = [0, *accumulate(len(line) for line in lines)]
    windowed: list[Span] = []
    for first in range(0, max(len(lines) - overlap, 1), size - overlap):
        start, stop = offsets[first], offsets[min(first + size, len(lines))]
        if stop - start <= MAX_WINDOW_CHARS:
            windowed.append((start, stop))
        else:
            windowed.extend((start + a, start + b) for a, b in spans(text[start:stop]))
    return [(start, stop) for start, stop in windowed if start < stop]
