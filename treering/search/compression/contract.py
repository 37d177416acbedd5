"""The contract of a compressor, and the settings that choose one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from treering.errors import InputError

CompressorName = Literal["sentences", "model"]
COMPRESSORS: tuple[CompressorName, ...] = ("sentences", "model")

LEAST_RATE = 0.01
"""Below it more than a hundred times the budget would be read."""

Span = tuple[int, int]
"""Start and end in a text, in characters."""


@dataclass(frozen=True, slots=True)
class CompressibleText:
    """A passage to be shortened.

    Text in ``fixed`` stays as it is. ``labels`` name speakers; a label stays if anything of its
    turn does. ``hits`` are the spans of hits with their places in the ranking, from 0.
    """

    text: str
    fixed: tuple[Span, ...] = ()
    labels: tuple[Span, ...] = ()
    hits: tuple[tuple[Span, int], ...] = ()


@runtime_checkable
class Compressor(Protocol):
    """Shortens the passages of a context."""

    def compress(self, passages: Sequence[CompressibleText], query: str, rate: float) -> list[str]:
        """The passages in about ``rate`` of their tokens, for one who asks ``query``.

        They keep their number and order; a passage may become empty. Raises LLMError if a model is
        asked and fails.
        """
        ...


def check_rate(rate: float) -> None:
    """Raises InputError for a rate that leaves nothing, or is no share."""
    is_number = isinstance(rate, int | float) and not isinstance(rate, bool)
    if not (is_number and math.isfinite(rate) and LEAST_RATE <= rate <= 1):
        raise InputError(
            f"compress is {rate!r}; it is the share of tokens to keep, from {LEAST_RATE} to 1, "
            "such as 0.5",
            param="compress",
        )
