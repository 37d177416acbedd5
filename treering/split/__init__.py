"""From an entry's text to fragments: the pieces that are embedded, scored and cited."""

from __future__ import annotations

from treering.records import Kind
from treering.split.text import MAX_FRAGMENT_CHARS, FragmentSize, Lengths, Span, spans, windows

__all__ = ["SPLIT_VERSION", "FragmentSize", "Lengths", "Span", "split"]

SPLIT_VERSION = 1
"""Raised with every change of where texts are cut. All texts are then cut again."""


def split(
    text: str, kind: Kind, limit: int = MAX_FRAGMENT_CHARS, lengths: Lengths | None = None
) -> list[Span]:
    """The fragments of an entry as character spans; white space alone makes no fragment.

    ``limit`` is in characters, or in what ``lengths`` counts. Code has windows of lines.
    """
    if lengths is None and kind != "code" and len(text) <= limit:  # nearly all texts
        return [] if text.isspace() or not text else [(0, len(text))]
    upto = None if lengths is None else lengths(text)
    cuts = windows(text) if kind == "code" else spans(text, limit, upto)
    return [(start, stop) for start, stop in cuts if not text[start:stop].isspace()]
