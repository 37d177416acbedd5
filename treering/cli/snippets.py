"""What a search prints of a hit: the part of its text that the query is about, words marked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from textwrap import wrap

from treering.cli.output import Part
from treering.records import Hit
from treering.search.terms import shared_words

SHOWN_LINES = 3  # a hit and its head fill four lines of a terminal, six hits a small window
MAX_WIDTH = 100  # beyond it lines are hard to read, however wide the terminal is
INDENT = "    "
MARKED = "bold yellow"

_GAP = "…"


def shown(hit: Hit, query: str, whole: bool = False) -> Iterator[Part]:
    """The lines of a hit's text to print, indented; ``whole`` leaves nothing out."""
    for line in hit.text.strip("\n").splitlines() if whole else _excerpt(hit, query):
        yield f"\n{INDENT}"
        yield from _marked(line, query)


def _excerpt(hit: Hit, query: str) -> list[str]:
    """A few lines around the words of the query, of prose wrapped anew, of code as they stand."""
    width = min(shutil.get_terminal_size((MAX_WIDTH, 24)).columns, MAX_WIDTH) - len(INDENT)
    if hit.kind == "code":
        lines = [line[:width] for line in hit.text.splitlines() if line.strip()]
    else:
        lines = wrap(" ".join(hit.text.split()), width - 2 * len(_GAP))
    if len(lines) <= SHOWN_LINES:
        return lines
    first = _best_start(lines, query)
    last = first + SHOWN_LINES
    excerpt = lines[first:last]
    if first:
        excerpt[0] = f"{_GAP}{excerpt[0]}"
    if last < len(lines):
        excerpt[-1] = f"{excerpt[-1]}{_GAP}"
    return excerpt


def _best_start(lines: list[str], query: str) -> int:
    """Where the run of lines with most words of the query begins; the first of equal ones."""
    counts = [len(shared_words(line, query)) for line in lines]
    starts = range(len(lines) - SHOWN_LINES + 1)
    return max(starts, key=lambda start: sum(counts[start : start + SHOWN_LINES]))


def _marked(line: str, query: str) -> Iterator[Part]:
    end = 0
    for start, stop in shared_words(line, query):
        yield line[end:start]
        yield line[start:stop], MARKED
        end = stop
    yield line[end:]
