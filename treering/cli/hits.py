"""A hit as text: its source, the lines that the query is about, and the terms of its score."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from textwrap import wrap

from treering.cli.output import Part, line_width, plural, printable, short_source
from treering.records import Hit, Why
from treering.search.context import against
from treering.search.terms import shared_words

SHOWN_LINES = 3  # a hit and its head fill four lines of a terminal, six hits a small window
MAX_WIDTH = 100  # beyond it lines are hard to read, however wide the terminal is
INDENT = "    "
MARKED = "bold yellow"
GAP = "…"
LEAST_SHOWN = 0.005  # of a term: less is +0.00
NO_SCORE = "–"


def hit_parts(
    number: int, hit: Hit, query: str, *, whole: bool = False, explain: bool = False
) -> Iterator[Part]:
    """Yield a hit as text: ``whole`` shows all of its lines, ``explain`` the terms of its score."""
    score = f"{hit.score:z5.2f}" if hit.why.is_scored else f"{NO_SCORE:>5}"
    yield f"{number:2}  {score}  "
    if hit.summary_of:
        yield f"summary of {plural(hit.summary_of, 'text', 'texts')}", "bold"
        yield f"  node {hit.node}, over "
    yield short_source(hit.source), "cyan"
    if not hit.summary_of:
        yield f" #{hit.position}"
    elif hit.summary_of > 1:
        yield f" and {plural(hit.summary_of - 1, 'other', 'others')}"
    yield f"  {hit.at:%Y-%m-%d}" if hit.at else ""
    yield f"  {hit.speaker}  " if hit.speaker else "  "
    yield hit.entry_id, "dim"
    yield from text_parts(hit, query, whole)
    if mark := against(hit).strip():
        yield f"\n{INDENT}{mark}", "yellow"
    if hit.times > 1:
        yield f"\n    × {hit.times}{_latest(hit.at)}", "dim"
    for older in hit.was:
        times = f"  × {older.times}" if older.times > 1 else ""
        yield f"\n    was: {' '.join(older.text.split())}{times}{_latest(older.at)}", "dim"
    if explain:
        yield from _terms(hit)


def text_parts(hit: Hit, query: str, whole: bool = False) -> Iterator[Part]:
    """Yield the lines of a hit's text to print, indented, the words of the query marked."""
    for line in hit.text.strip("\n").splitlines() if whole else _excerpt(hit, query):
        yield f"\n{INDENT}"
        end = 0
        for start, stop in shared_words(line, query):
            yield line[end:start]
            yield line[start:stop], MARKED
            end = stop
        yield line[end:]


def _excerpt(hit: Hit, query: str) -> list[str]:
    """Return a few lines around the words of the query; prose is wrapped again, code is not."""
    width = min(line_width(), MAX_WIDTH) - len(INDENT)
    if hit.kind == "code":
        lines = [line[:width] for line in hit.text.splitlines() if line.strip()]
    else:
        lines = wrap(printable(" ".join(hit.text.split())), width - 2 * len(GAP))
    if len(lines) <= SHOWN_LINES:
        return lines
    counts = [len(shared_words(line, query)) for line in lines]
    starts = range(len(lines) - SHOWN_LINES + 1)
    first = max(starts, key=lambda start: sum(counts[start : start + SHOWN_LINES]))
    excerpt = lines[first : first + SHOWN_LINES]
    if first:
        excerpt[0] = f"{GAP}{excerpt[0]}"
    if first + SHOWN_LINES < len(lines):
        excerpt[-1] = f"{excerpt[-1]}{GAP}"
    return excerpt


def _latest(at: datetime | None) -> str:
    return f", latest on {at:%Y-%m-%d}" if at else ""


def _terms(hit: Hit) -> Iterator[Part]:
    if hit.level is not None:
        yield f"\n    level {hit.level} of the tree"
    yield from term_parts(hit.why, hit.score)
    yield f"   confidence {hit.confidence:.2f}"


def term_parts(why: Why, score: float) -> Iterator[Part]:
    """Yield the terms that a score is the sum of, and the score, each on a line of its own."""
    raw = {"lexical": ("BM25", why.bm25), "dense": ("cosine", why.cosine)}
    is_scored, every = why.is_scored, why.terms.items()
    terms = [term for term in every if not is_scored or abs(term[1]) >= LEAST_SHOWN]
    for place, (name, value) in enumerate(terms):
        label, own = raw.get(name, ("", None))
        yield f"\n    {'+' if place else '='} "
        term = f"{value:+z6.2f}" if is_scored else f"{NO_SCORE:>6}"
        yield f"{name:<10} {term}", "green" if value > 0 else "red" if value < 0 else ""
        yield f"   {label} {own:z.2f}" if own is not None else ""
    total = f"{score:+z6.2f}" if is_scored else f"{NO_SCORE:>6}"
    yield f"\n    = {'score':<10} {total}"
