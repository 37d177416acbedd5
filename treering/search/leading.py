"""What the leading rows of a search are beside their words: replies, and of a named source.

"What is Ana's sister called?" finds "What is your sister's name?", asked by somebody else. The
turn after that answers both, and need not share a word with either. And "What did The Verge write
about trackers?" asks for what is of that source, whose texts need not say so.

Both are told of the leading rows alone: of these, the sources and the ends of turns are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from treering.arrays import Codes
from treering.journal import entries, sources
from treering.journal.space import SpaceReader
from treering.records import KINDS
from treering.search import languages
from treering.search.filters import RowFilter
from treering.search.rank import Ranking
from treering.search.related import ASSISTANT, weight_of_rows
from treering.search.relations.asked import NamedSource, ReplyTo
from treering.search.relations.contract import MISSING
from treering.search.relations.registry import Plan, alpha_of
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


def with_leading(
    reader: SpaceReader,
    ranking: Ranking,
    plan: Plan,
    queries: Sequence[str],
    allowed: RowFilter,
) -> Ranking:
    """A ranking in which replies to questions and what is of a named source come first, among the
    leading rows that are ``allowed``. The scores of the ranking change in place.
    """
    snapshot = ranking.snapshot
    of_source = weight_of_rows(snapshot, plan, NamedSource)
    of_reply = alpha_of(plan, "chat", ReplyTo) if "chat" in snapshot.kinds else 0.0
    if of_source is None and not of_reply:
        return ranking
    noted: dict[str, dict[tuple[int, int], float]] = {}
    for number, query in enumerate(queries):
        rows = allowed.first(ranking, number, LEADING)
        given: dict[str, dict[int, float]] = {}
        if of_source is not None:
            named = _of_named_sources(reader, snapshot, query, rows).tolist()
            weights = np.broadcast_to(of_source, len(snapshot))
            given[NamedSource().name] = {row: float(weights[row]) for row in named if weights[row]}
        if of_reply:
            replies = _replies(reader, ranking, rows, number)
            given[ReplyTo().name] = {row: of_reply * asked for row, asked in replies.items()}
        for name, of_rows in given.items():
            for row, value in of_rows.items():
                share = 1.0 if ranking.share is None else float(ranking.share[row])
                ranking.scores[row, number] += np.float32(share * value)
                noted.setdefault(name, {})[row, number] = share * value
    return replace(ranking, noted={**ranking.noted, **noted})


def _replies(reader: SpaceReader, ranking: Ranking, rows: Codes, query: int) -> dict[int, float]:
    """The rows, of some, that reply to a question, and the own score of that question.

    A reply is the turn after it, in the same session and by somebody else: who goes on after a
    question of his own does not answer it. Assistants ask out of politeness, and reply to all.
    """
    entry = ranking.snapshot.entry
    own = [ranking.terms[name] for name in ("lexical", "dense") if name in ranking.terms]
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
