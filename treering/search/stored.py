"""Columns that few searches need, read from the space when a relation is bound to its items."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from treering.arrays import Codes
from treering.journal import entries, sources
from treering.journal.space import Space
from treering.search.lexical import Lexical
from treering.search.metadata import Metadata
from treering.search.relations.contract import MISSING, Labels, StoredColumns
from treering.search.terms import terms

LEAST_LETTERS: Final = 4  # of the name of a source that a text can cite

MOST_CITING: Final = 2_000
"""Items that say the rarest word of a name. One that more say is no citation of a source."""

MOST_CHARS: Final = 1 << 20  # of a text that may cite sources


@dataclass(frozen=True, slots=True)
class SpaceColumns:
    """See ``StoredColumns``, of the fragments of a space."""

    space: Space
    entry: Codes
    document: Labels
    lexical: Lexical
    metadata: Metadata

    def values(self, key: str) -> Labels:
        """See ``StoredColumns``."""
        with self.space.read() as reader:
            return self.metadata.codes(reader, reader.id, self.entry, key)

    def citations(self) -> tuple[Codes, Codes]:
        """See ``StoredColumns``. A text cites a source by its name or the end of its path."""
        with self.space.read() as reader:
            shown = sources.shown_names(reader, set(np.unique(self.document).tolist()))
            names = [(number, name) for number, full in shown.items() for name in _names(full)]
            phrases = [np.unique(terms(name)[:, 0]) for _, name in names]
            said = [at for at, phrase in enumerate(phrases) if len(phrase)]
            holders = self.lexical.holders([phrases[at] for at in said], MOST_CITING)
            rows = np.unique(np.concatenate([[], *(rows for rows, _ in holders)]).astype(np.int64))
            texts = entries.beginnings(reader, self.entry[rows].tolist(), MOST_CHARS)
        pairs: list[tuple[int, int]] = []
        for at, (candidates, _) in zip(said, holders, strict=True):
            number, name = names[at]
            whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
            pairs += [
                (row, number)
                for row in candidates.tolist()
                if whole.search(texts.get(int(self.entry[row]), ""))
            ]
        citing, cited = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        return citing, cited


def _names(source: str) -> set[str]:
    """Return the names that cite a source: the whole, and the end of a path."""
    names = {source, source.rstrip("/").rpartition("/")[2]}
    return {name for name in names if len(name) >= LEAST_LETTERS}


@dataclass(frozen=True, slots=True)
class GroupColumns:
    """See ``StoredColumns``, of ``size`` items of which the first have groups of others.

    A group has the value of its first member that is there, and cites what any member cites.
    """

    members: StoredColumns
    group_of: Codes
    size: int

    def values(self, key: str) -> Labels:
        """See ``StoredColumns``."""
        of_members = self.members.values(key)
        there = np.flatnonzero(of_members != MISSING)[::-1]
        codes = np.full(self.size, MISSING, dtype=np.int64)
        codes[self.group_of[there]] = of_members[there]  # the first one is written last
        return codes

    def citations(self) -> tuple[Codes, Codes]:
        """See ``StoredColumns``."""
        citing, cited = self.members.citations()
        return self.group_of[citing], cited
