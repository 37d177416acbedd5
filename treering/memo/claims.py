"""Whether the lines of a dialogue support the sentences of a summary. No model is asked.

A sentence is supported if its numbers and names were said and enough of its other words were, or
fewer of them by a line that means nearly the same. Deterministic: the same texts, the same verdict.
"""

from __future__ import annotations

import re
from typing import Final

from treering.score.terms import terms
from treering.split.text import sentences

_TITLE: Final = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|vs|e\.g|i\.e)|\b[A-Z])\.$")
"""What ends in a full stop without ending a sentence."""

_WORD: Final = re.compile(r"\w+(?:'\w+)*")


def claims_of(summary: str) -> tuple[str, ...]:
    """The sentences of a summary; joined by spaces they are the summary with its spaces evened."""
    found: list[str] = []
    for sentence in sentences(" ".join(summary.split())):
        if found and _TITLE.search(found[-1]):
            found[-1] = f"{found[-1]} {sentence}"
        else:
            found.append(sentence)
    return tuple(found)


def content_words(text: str) -> dict[str, str]:
    """The words of a text that say something, by their stems, in order: stem to word as said."""
    found: dict[str, str] = {}
    for word in _WORD.findall(text.replace("’", "'")):
        for stem in terms(word)[:, 0].tolist():
            found.setdefault(str(stem), word)
    return found
