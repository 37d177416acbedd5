"""A question of several parts, each of which may ask for another text.

"Which company, that the Verge says bought the maker of trackers, is said by the Age to pay for its
place in browsers?" asks for two texts, and each holds the words of one part only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import ClassVar, Final

import numpy as np

from treering.arrays import Floats
from treering.search.fusion import standardise
from treering.search.ranking import NO_ROWS, Queries, Ranking, RowValues, Stage
from treering.search.snapshot import Snapshot
from treering.search.terms import Terms, terms

LEAST_TERMS: Final = 6
"""Of a part: 5 to 8 find the same (MultiHop-RAG). Questions of other sets hardly have two such
parts."""

MOST_PARTS: Final = 8  # a longer text is not a question, such as the last turns of a chat
MOST_CHARS: Final = 2_000
MOST_HOLDERS: Final = 20_000  # fragments with a word beyond which it does not count

_SPLIT: Final = re.compile(
    r"[,;:?!]\s+|[\u3001\u3002\uff0c\uff1b\uff1f]|\s[-\u2013\u2014]\s|\b(?:and|or|but|while|who|"
    r"which|whose|that|as|after|before|between|when|where|because|with|und|oder|aber|et|ou|y|o)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """A long question asks for texts that answer one of its parts."""

    stage: ClassVar[Stage] = Stage.QUESTION
    is_evidence: ClassVar[bool] = False

    name: str = "parts"

    def contribute(self, queries: Queries, ranking: Ranking) -> RowValues | None:
        """Return BM25 of the part that a row answers best, in standard deviations."""
        weight = ranking.weight(self.name)
        if weight is None or queries.mode == "dense":
            return None
        columns = [_column(ranking.snapshot, parts_of(text)) for text in queries.texts]
        if all(column is None for column in columns):
            return None
        for column in columns:
            if column is not None:
                column *= weight
        rows = [NO_ROWS if column is None else None for column in columns]
        return RowValues(rows, [np.float32(0) if column is None else column for column in columns])


def _column(snapshot: Snapshot, parts: Sequence[str]) -> Floats | None:
    if len(parts) < 2:
        return None
    best = np.full(len(snapshot), -np.inf, dtype=np.float32)
    for part in parts:
        score = snapshot.lexical.score(_rare(snapshot, terms(part)))
        np.maximum(best, standardise(score), out=best)
    return best


def _rare(snapshot: Snapshot, of_part: Terms) -> Terms:
    """Return the terms of a part that not too many fragments hold."""
    rarity = snapshot.lexical.rarity(of_part[:, 0].tolist())
    least = log((len(snapshot) + 1) / MOST_HOLDERS)
    rare: Terms = of_part[[rarity[term] >= least for term in of_part[:, 0].tolist()]]
    return rare


def parts_of(query: str) -> list[str]:
    """Return the parts of a query, each with ``LEAST_TERMS`` or more; else the query alone.

    A piece between two marks or conjunctions is joined to the next until it is long enough, the
    last piece to the part before. A text longer than ``MOST_CHARS`` or of more than ``MOST_PARTS``
    is not a question.
    """
    if len(query) > MOST_CHARS:
        return [query]
    parts: list[str] = []
    open_part = ""
    for piece in _SPLIT.split(query):
        open_part = f"{open_part} {piece}".strip()
        if len(terms(open_part)) >= LEAST_TERMS:
            parts.append(open_part)
            open_part = ""
    if open_part and parts:
        parts[-1] = f"{parts[-1]} {open_part}"
    return parts if 0 < len(parts) <= MOST_PARTS else [query]
