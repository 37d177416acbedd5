"""Whether the lines of a dialogue support the sentences of a summary. No model, no I/O."""

from __future__ import annotations

import re
from typing import Final

from treering.split.text import sentences

_TITLE: Final = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|St|Prof|vs|e\.g|i\.e)|\b[A-Z])\.$")
"""What ends in a full stop without ending a sentence."""


def claims_of(summary: str) -> tuple[str, ...]:
    """The sentences of a summary; joined by spaces they are the summary with its spaces evened."""
    found: list[str] = []
    for sentence in sentences(" ".join(summary.split())):
        if found and _TITLE.search(found[-1]):
            found[-1] = f"{found[-1]} {sentence}"
        else:
            found.append(sentence)
    return tuple(found)
