"""From an entry's text to fragments: the pieces that are embedded, scored and cited."""

from __future__ import annotations

from treering.records import Kind
from treering.split.lines import windows
from treering.split.text import Span, spans

__all__ = ["Span", "split"]


def split(text: str, kind: Kind) -> list[Span]:
    """The fragments of an entry as character spans; white space alone makes no fragment."""
    found = windows(text) if kind == "code" else spans(text)
    return [(start, stop) for start, stop in found if not text[start:stop].isspace()]
