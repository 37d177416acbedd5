"""Code-aware terms: an identifier counts as a whole and by its words."""

from __future__ import annotations

import re
from functools import lru_cache

from treering.score.terms import Terms, terms

_COMPOUND = re.compile(r"\w*(?:_\w|[a-z][A-Z]|[A-Z]{2}[a-z])\w*")
"""Identifiers of several words: snake_case, camelCase, HTTPServer."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")


def code_terms(text: str) -> Terms:
    """The terms of code or of a question about it; see ``terms`` for their form."""
    return terms(_COMPOUND.sub(_expanded, text))


def _expanded(found: re.Match[str]) -> str:
    return _words(found[0])


@lru_cache(maxsize=1 << 16)  # the same identifiers come again and again
def _words(identifier: str) -> str:
    """An identifier in lower case, followed by its words."""
    return " ".join([identifier, *_WORD.findall(identifier)]).lower()
