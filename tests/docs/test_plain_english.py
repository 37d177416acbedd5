"""Pages use few of the habits that make English hard to read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.docs.pages import DOCS, ROOT

HABITS = {
    "what as a noun": (
        r"(?:^|[,;:(] ?|\b(?:of|by|from|to|with|than|and|or|as|in|on|for|is|are|after|before|like)"
        r" )[Ww]hat(?:ever)? (?!(?:if|about)\b)[^?]*$",
        10,
    ),
    "who as a noun": (
        r"(?:^|[,;:.(] )(?:[Ww]ho|[Ww]hoever|[Tt]hose who|[Tt]hat which)\b [^?]*$",
        2,
    ),
    "nobody, somebody": (r"\b(?:[Nn]obody|[Ss]omebody|[Ww]hoever|[Nn]o one)\b", 2),
    "tell, told": (r"\b(?:tells?|told|telling)\b", 3),
    "stand, stands": (r"\b(?:stands?|stood)\b(?! (?:for|alone)\b)", 1),
    "is no, are none": (
        r"\b(?:is|are|was|were|has|have|had) (?:no|none)\b(?! longer\b)",
        10,
    ),
    "anew, once more": (r"\b(?:anew|once more|no more|at once|by itself|by themselves)\b", 3),
    "passive without an actor": (
        r"\b(?:is|are|be|was|were) "
        r"(?:made|kept|done|given|asked|taken in|left out|looked at|looked for|put)\b",
        15,
    ),
}
"""Patterns, each with its limit for 10,000 words: the pages of well-loved projects have fewer."""

PAGES = (
    *sorted(ROOT.glob("*.md")),
    *(page for page in sorted(DOCS.rglob("*.md")) if page.parent.name != "reference"),
)
MAX_WORDS = 32_000
"""Words of all pages with code and tables, without the generated reference."""

_WORD = re.compile(r"[A-Za-z][\w'-]*")
_NOT_PROSE = re.compile(
    r"(?ms:^ *```.*?^ *```)|``[^`\n]*``|`[^`\n]*`|(?m:^ {4}.*$|^\|.*$)|(?s:<!--.*?-->)"
)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page, without code and tables."""
    prose = _NOT_PROSE.sub(" ", text)
    for part in re.split(r"(?<=[.!?;:])\s+|\n\s*\n|\n[-*#|] ?", prose):
        if sentence := " ".join(part.split()):
            yield sentence


@pytest.mark.parametrize("habit", HABITS)
def test_pages_are_plain(habit: str) -> None:
    pattern, limit = HABITS[habit]
    every = [sentence for page in PAGES for sentence in sentences(page.read_text("utf-8"))]
    words = sum(len(_WORD.findall(sentence)) for sentence in every)
    found = [sentence for sentence in every if re.search(pattern, sentence)]
    assert 10_000 * len(found) <= limit * words, found


def test_pages_are_short() -> None:
    counts = Counter({page: len(_WORD.findall(page.read_text("utf-8"))) for page in PAGES})
    assert counts.total() <= MAX_WORDS, counts.most_common(5)


def test_the_prose_of_a_page_has_neither_code_nor_tables() -> None:
    page = "One `a b`. Two\nlines?\n\n```sh\nwhat x\n```\n\n| what | y |\n\n- Three\n- Four\n"
    assert list(sentences(page)) == ["One .", "Two lines?", "- Three", "Four"]
