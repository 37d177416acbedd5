"""Signals of the leading rows of a search: replies, and what is of a named source.

"What is Ana's sister called?" finds "What is your sister's name?", asked by somebody else. The
turn after that answers both, and need not share a word with either. And "What did The Verge write
about trackers?" asks for what is of that source, whose texts need not say so.

Both are told of the leading rows alone: of these, the sources and the ends of turns are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from treering.arrays import Codes
from treering.journal import entries, sources
from treering.journal.space import SpaceReader
from treering.records import KINDS
from treering.search import languages
from treering.search.people import ASSISTANT
from treering.search.ranking import Queries, Ranking, RowValues, Stage
from treering.search.relations.contract import MISSING
from treering.search.relations.plan import alpha_of
from treering.search.snapshot import Snapshot

LEADING: Final = 64
"""Rows that are looked at: whoever asks for the ten best has little of what is further down."""

MOST_CHARS: Final = 2_000
"""A longer text is no question, and names no source."""

MOST_WORDS: Final = 8  # of the name of a source
LEAST_LETTERS: Final = 4  # of a name, so that "ai" and "go" are none

_HOST = re.compile(r"\w+://(?:[^/@]*@)?([^/:?#]*)")
_PARENTHESIS = re.compile(r"\([^()]*\)")
_EXTENSION = re.compile(r"\.\w{1,5}$")


@dataclass(frozen=True, slots=True)
class NamedSource:
    """A question that names a source asks for what that says."""

    stage: ClassVar[Stage] = Stage.SOURCES
    is_evidence: ClassVar[bool] = False

    name: str = "source"

    def contribute(self, queries: Queries, ranking: Ranking) -> RowValues | None:
        """A bonus for those of the leading rows whose source is named."""
        weight, reader = ranking.weight(self.name), queries.rows
        if weight is None or reader is None:
            return None
        weights = np.broadcast_to(weight, len(ranking.snapshot))
        named: list[Codes] = []
        for number, text in enumerate(queries.texts):
            rows = reader.allowed.first(ranking, number, LEADING)
            rows = _of_named_sources(reader.reader, ranking.snapshot, text, rows)
            named.append(rows[weights[rows] != 0])
        return RowValues(named, [weights[rows] for rows in named])


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """The reply to a question is an answer to one like it."""

    stage: ClassVar[Stage] = Stage.SOURCES
    is_evidence: ClassVar[bool] = False

    name: str = "reply"

    def contribute(self, queries: Queries, ranking: Ranking) -> RowValues | None:
        """The own score of the question to which one of the leading rows replies."""
        alpha = alpha_of(ranking.plan, "chat", self.name)
        reader = queries.rows
        if not alpha or reader is None or "chat" not in ranking.snapshot.kinds:
            return None
        every: list[dict[int, float]] = []
        for number in range(len(queries.texts)):
            rows = reader.allowed.first(ranking, number, LEADING)
            every.append(_replies(reader.reader, ranking, rows, number))
        return RowValues(
            [np.array(list(replies), dtype=np.int64) for replies in every],
            [np.array([alpha * x for x in of.values()], dtype=np.float32) for of in every],
        )


def _replies(reader: SpaceReader, ranking: Ranking, rows: Codes, query: int) -> dict[int, float]:
    """The rows, of some, that reply to a question, and the own score of that question.

    A reply is the turn after it, in the same session and by somebody else: who goes on after a
    question of his own does not answer it. Assistants ask out of politeness, and reply to all.
    """
    entry = ranking.snapshot.entry
    own = ranking.own.terms.values()
    pairs: list[tuple[int, int, float]] = []
    for row, before in _turns_after(ranking.snapshot, rows):
        score = sum(term.at(before, query) for term in own)
        if score > 0:
            pairs.append((row, before, score))
    asking = entries.asking(reader, {int(entry[before]) for _, before, _ in pairs})
    return {row: score for row, before, score in pairs if int(entry[before]) in asking}


def _turns_after(snapshot: Snapshot, rows: Codes) -> list[tuple[int, int]]:
    """Those of some rows before which somebody else says another of them, and that one."""
    items = snapshot.items
    chat = rows[snapshot.kind[rows] == KINDS.index("chat")]
    assistant = snapshot.names.speakers.get(ASSISTANT, MISSING)
    chat = chat[items.speaker[chat] != assistant]
    places = zip(items.document[chat].tolist(), items.position[chat].tolist(), strict=True)
    by_place = dict(zip(places, chat.tolist(), strict=True))
    pairs = [
        (row, by_place[document, position - 1])
        for (document, position), row in by_place.items()
        if (document, position - 1) in by_place
    ]
    return [
        (row, before)
        for row, before in pairs
        if items.session[before] == items.session[row]
        and items.speaker[before] != items.speaker[row]
    ]


def _of_named_sources(reader: SpaceReader, snapshot: Snapshot, query: str, rows: Codes) -> Codes:
    """The rows, of some, whose source a query names; none where it names that of all."""
    grams = _grams(query)
    documents = snapshot.items.document[rows]
    if not grams or not len(rows):
        return rows[:0]
    names = sources.names_of(reader, set(documents.tolist()))
    named = [number for number, name in names.items() if not grams.isdisjoint(name_forms(name))]
    is_named = np.isin(documents, named)
    return rows[:0] if is_named.all() else rows[is_named]


def name_forms(source: str) -> set[str]:
    """What a source may be called in a question, each without what parts its words.

    The host of an address, "theverge"; else the end of a path without its extension, and a title
    without what stands in parentheses.
    """
    address = _HOST.match(source)
    if address:
        names = [max(address[1].split(".")[:-1], key=len, default="")]
    else:
        last = _EXTENSION.sub("", source.rstrip("/").rpartition("/")[2])
        names = [last, _PARENTHESIS.sub("", last)]
    joined = {"".join(languages.words_of(_spaced(name))) for name in names}
    return {name for name in joined if len(name) >= LEAST_LETTERS}


def _spaced(text: str) -> str:
    return languages.plain(text.replace("_", " "))


def _grams(query: str) -> set[str]:
    """All that may be a name in a query: words in a row, and single ones with a capital letter."""
    if len(query) > MOST_CHARS:
        return set()
    words = languages.words_of(_spaced(query))
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
