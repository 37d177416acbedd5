"""Pages, docstrings, comments and messages use few of the habits that make English hard to read."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator

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

FEW_WORDS = 4
"""Strings and comments up to so many words are labels, not sentences."""

BARE = re.compile(r"_?(of|[a-z]+(ed|ing)|told|lent|kept|made|found|held|shown|known|drawn|written)")
MAX_BARE_PERCENT = 2.0
"""A bare participle does not say what a function does; well-loved projects have 0.1 to 1.3."""

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


def page_texts() -> Iterator[str]:
    """Yield the text of each page."""
    for page in PAGES:
        yield page.read_text("utf-8")


def code_texts() -> Iterator[str]:
    """Yield the docstrings, longer strings and comments of the package."""
    for source in _sources():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                parts = (
                    part.value if isinstance(part, ast.Constant) else "X" for part in node.values
                )
                yield "".join(map(str, parts))
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.string.lstrip("# ")


def _sources() -> list[str]:
    return [path.read_text("utf-8") for path in sorted((ROOT / "treering").rglob("*.py"))]


@pytest.mark.parametrize("texts", [page_texts, code_texts])
def test_sentences_are_plain(texts: Callable[[], Iterator[str]]) -> None:
    long = [text for text in texts() if len(_WORD.findall(text)) > FEW_WORDS]
    every = [sentence for text in long for sentence in sentences(text)]
    words = sum(len(_WORD.findall(sentence)) for sentence in every)
    for habit, (pattern, limit) in HABITS.items():
        found = [sentence for sentence in every if re.search(pattern, sentence)]
        assert 10_000 * len(found) <= limit * words, (habit, found)


def test_functions_are_named_by_verbs_and_nouns() -> None:
    names = [
        node.name
        for source in _sources()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    bare = [name for name in names if BARE.fullmatch(name)]
    assert 100 * len(bare) <= MAX_BARE_PERCENT * len(names), bare


def test_pages_are_short() -> None:
    counts = Counter({page: len(_WORD.findall(page.read_text("utf-8"))) for page in PAGES})
    assert counts.total() <= MAX_WORDS, counts.most_common(5)


def test_the_prose_of_a_page_has_neither_code_nor_tables() -> None:
    page = "One `a b`. Two\nlines?\n\n```sh\nwhat x\n```\n\n| what | y |\n\n- Three\n- Four\n"
    assert list(sentences(page)) == ["One .", "Two lines?", "- Three", "Four"]
