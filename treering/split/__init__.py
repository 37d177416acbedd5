"""From an entry's text to fragments: the pieces that are embedded, scored and cited."""

from __future__ import annotations

from treering.records import Kind
from treering.split.lines import windows
from treering.split.text import Span, spans

__all__ = ["SPLIT_VERSION", "Span", "split"]

SPLIT_VERSION = 1
"""Raised with every change of where texts are cut: what was cut otherwise is then cut anew."""


def split(text: str, kind: Kind) -> list[Span]:
    """The fragments of an entry as character spans; white space alone makes no fragment."""
    cuts = windows(text) if kind == "code" else spans(text)
    return [(start, stop) for start, stop in cuts if not text[start:stop].isspace()]
