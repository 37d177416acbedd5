"""Text to fragments: runs of whole sentences, with whole paragraphs where they fit.

These spans cover the text without gap or overlap. Code has overlapping windows of lines instead.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Literal, Self, get_args

from treering.errors import InputError

Span = tuple[int, int]

MAX_FRAGMENT_CHARS = 1_000
"""About 220 tokens; the bundled embedder reads 256 and would not see the rest."""

WINDOW_LINES = 20
OVERLAP_LINES = 10
MAX_WINDOW_CHARS = 8_000  # a window of longer lines is data or minified: cut like text

_PARAGRAPH = re.compile(r"\n[ \t\r]*\n\s*")
_SENTENCE = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+|\n\s*|(?<=[。！？])")
_WORD = re.compile(r"\s+")
# From the most to the least natural place to cut.
_BORDERS = (_PARAGRAPH, _SENTENCE, _WORD)


def spans(
    text: str, limit: int = MAX_FRAGMENT_CHARS, upto: Sequence[float] | None = None
) -> list[Span]:
    """Cut a text into spans of at most ``limit`` characters, at the most natural places.

    A paragraph that fits is never cut; one that does not is cut between sentences, a sentence
    between words, a word (or a line without spaces) anywhere. ``upto`` gives lengths in something
    else than characters: that of the text up to each character.
    """
    lengths = range(len(text) + 1) if upto is None else upto
    if lengths[-1] <= limit:
        return [(0, len(text))] if text else []
    return list(_cut(text, (0, len(text)), limit, lengths, level=0))


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


def sentences(text: str) -> list[str]:
    """The sentences of a text, without the white space around them."""
    pieces = (text[start:stop].strip() for start, stop in sentence_spans(text, 0, len(text)))
    return [sentence for sentence in pieces if sentence]


def sentence_spans(text: str, start: int, stop: int) -> Iterator[Span]:
    """The sentences of a part of a text, each with the white space that follows it."""
    return _pieces(text, start, stop, _SENTENCE)


def _cut(text: str, span: Span, limit: int, upto: Sequence[float], level: int) -> Iterator[Span]:
    """Merge the pieces of one level while they fit; cut a piece that does not a level deeper."""
    start, stop = span
    if level == len(_BORDERS):
        yield from _anywhere(start, stop, limit, upto)
        return
    open_from = start
    for piece_start, piece_stop in _pieces(text, start, stop, _BORDERS[level]):
        if upto[piece_stop] - upto[open_from] <= limit:
            continue
        if piece_start > open_from:
            yield (open_from, piece_start)
        open_from = piece_start
        if upto[piece_stop] - upto[piece_start] > limit:
            # The last part stays open: the next piece may still fit behind it.
            *whole, last = _cut(text, (piece_start, piece_stop), limit, upto, level + 1)
            yield from whole
            open_from = last[0]
    if open_from < stop:
        yield (open_from, stop)


def _anywhere(start: int, stop: int, limit: int, upto: Sequence[float]) -> Iterator[Span]:
    """As long spans as fit, of one character at least."""
    while start < stop:
        end = bisect_right(upto, upto[start] + limit, start + 1, stop + 1) - 1
        yield (start, max(end, start + 1))
        start = max(end, start + 1)


def _pieces(text: str, start: int, stop: int, border: re.Pattern[str]) -> Iterator[Span]:
    """The pieces between borders, each with the white space that follows it."""
    open_from = start
    for match in border.finditer(text, start, stop):
        if match.end() > open_from:
            yield (open_from, match.end())
            open_from = match.end()
    if open_from < stop:
        yield (open_from, stop)


LengthUnit = Literal["characters", "words", "tokens"]
UNITS: Final[tuple[LengthUnit, ...]] = get_args(LengthUnit)

Lengths = Callable[[str], Sequence[float]]
"""The length of a text up to each of its characters: ascending, one number more than characters."""

_FORM: Final = re.compile(r"([0-9]{1,9}) ([a-z]+)")
_NOT_SPACE: Final = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class FragmentSize:
    """The most that a fragment of text has. Code always has windows of lines."""

    count: int = MAX_FRAGMENT_CHARS
    unit: LengthUnit = "characters"

    @classmethod
    def parse(cls, text: str, what: str = "the size of fragments") -> Self:
        """Read ``500 words``. Raises InputError, which calls it ``what``."""
        match = _FORM.fullmatch(text) if isinstance(text, str) else None
        unit = next((unit for unit in UNITS if match and unit == match[2]), None)
        if match is None or unit is None or int(match[1]) < 1:
            raise InputError(
                f"{what} is {text!r}; it is a number from 1 to 999999999 and one of "
                f"{', '.join(UNITS)}, such as '500 words'"
            )
        return cls(int(match[1]), unit)

    @property
    def fits_models(self) -> bool:
        """Whether every model reads a whole fragment; else it is embedded in parts."""
        return self == type(self)()

    def __str__(self) -> str:
        return f"{self.count} {self.unit}"


def words_upto(text: str) -> Sequence[float]:
    """``Lengths`` in words, which white space separates."""
    starts = [0] * len(text)
    for word in _NOT_SPACE.finditer(text):
        starts[word.start()] = 1
    return [*accumulate(starts, initial=0)]
