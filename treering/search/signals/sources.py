"""A question that names a source, such as "What did The Verge write about trackers?".

Texts of a source need not name it. Only the sources of the best rows are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from treering.arrays import Codes
from treering.journal import sources
from treering.journal.space import SpaceReader
from treering.search import languages
from treering.search.ranking import Queries, Ranking, RowValues, Stage
from treering.search.snapshot import Snapshot

BEST: Final = 64  # rows whose sources are read

MOST_CHARS: Final = 2_000
"""A longer text is not a question."""

MOST_WORDS: Final = 8  # of the name of a source
LEAST_LETTERS: Final = 4  # of a name, without "ai" and "go"

_HOST = re.compile(r"\w+://(?:[^/@]*@)?([^/:?#]*)")
_PARENTHESIS = re.compile(r"\([^()]*\)")
_EXTENSION = re.compile(r"\.\w{1,5}$")


@dataclass(frozen=True, slots=True)
class NamedSource:
    """A question that names a source asks for its texts."""

    stage: ClassVar[Stage] = Stage.SOURCES
    is_evidence: ClassVar[bool] = False

    name: str = "source"

    def contribute(self, queries: Queries, ranking: Ranking) -> RowValues | None:
        """Return a bonus for those of the best rows whose source is named."""
        weight, reader = ranking.weight(self.name), queries.rows
        if weight is None or reader is None:
            return None
        weights = np.broadcast_to(weight, len(ranking.snapshot))
        named: list[Codes] = []
        for number, text in enumerate(queries.texts):
            rows = reader.allowed.first(ranking, number, BEST)
            rows = _of_named_sources(reader.reader, ranking.snapshot, text, rows)
            named.append(rows[weights[rows] != 0])
        return RowValues(named, [weights[rows] for rows in named])


def _of_named_sources(reader: SpaceReader, snapshot: Snapshot, query: str, rows: Codes) -> Codes:
    """Return the rows, of some, whose source a query names; none if it names that of all."""
    documents = snapshot.items.document[rows]
    if not len(rows) or (documents == documents[0]).all() or not (grams := _grams(query)):
        return rows[:0]
    names = sources.shown_names(reader, set(documents.tolist()))
    named = [number for number, name in names.items() if not grams.isdisjoint(name_forms(name))]
    is_named = np.isin(documents, named)
    return rows[:0] if is_named.all() else rows[is_named]


def name_forms(source: str) -> set[str]:
    """Return the names of a source in a question, without the signs that part their words.

    They are the host of an address, "theverge"; else the end of a path without its extension, and a
    title without parentheses.
    """
    address = _HOST.match(source)
    if address:
        names = [max(address[1].split(".")[:-1], key=len, default="")]
    else:
        last = _EXTENSION.sub("", source.rstrip("/").rpartition("/")[2])
        names = [last, _PARENTHESIS.sub("", last)]
    joined = {"".join(languages.words_of(_plain_words(name))) for name in names}
    return {name for name in joined if len(name) >= LEAST_LETTERS}


def _plain_words(text: str) -> str:
    return languages.plain(text.replace("_", " "))


def _grams(query: str) -> set[str]:
    """Return possible names in a query: words in a row, and single ones with a capital letter."""
    if len(query) > MOST_CHARS:
        return set()
    words = languages.words_of(_plain_words(query))
    grams = {
        "".join(words[start:stop])
        for start in range(len(words))
        for stop in range(start + 2, min(start + MOST_WORDS, len(words)) + 1)
    }
    grams |= {
        "".join(languages.words_of(languages.plain(word)))
        for word in re.findall(r"\w+", query)
        if word[0].isupper() or word[0].isdigit()
    }
    return grams
