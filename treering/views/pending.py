"""Pending work in the words of users."""

from __future__ import annotations

from typing import Final

from treering.journal.space import EMBEDDING
from treering.journal.storage import SCRUB
from treering.views.tree.store import ERASED, LOOSE, SUMMARIES, UNPLACED

_WORDS: Final = {
    "fragments": ("entry to be indexed", "entries to be indexed"),
    "facts": ("entry to be read for facts", "entries to be read for facts"),
    "memo": ("memo to be written", "memos to be written"),
    SUMMARIES: ("summary to be written", "summaries to be written"),
    ERASED: (
        "erased text to be taken out of the tree of summaries",
        "erased texts to be taken out of the tree of summaries",
    ),
    LOOSE: (
        "text to be put into the tree of summaries again",
        "texts to be put into the tree of summaries again",
    ),
    UNPLACED: (
        "text to be put into the tree of summaries",
        "texts to be put into the tree of summaries",
    ),
    EMBEDDING: ("fragment to be embedded", "fragments to be embedded"),
}


def in_words(kind: str, count: int) -> str:
    """So much pending work of a kind, such as "2 summaries to be written"."""
    if kind == SCRUB:
        return "erased text to be taken out of the file's bytes"  # how many is not counted
    words = _WORDS.get(EMBEDDING if kind.startswith(EMBEDDING) else kind)
    if words is None:  # of a view that another package brings
        return f"{count:,} of {kind}"
    one, many = words
    return f"{count:,} {one if count == 1 else many}"
