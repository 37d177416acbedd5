"""Names in the best hits: the second hop of a question (relation ``mention``).

"Who is the mother of the director of Blood Street?" finds the text on the film, which says that Leo
Fong directed it. The text on Leo Fong shares no word with the question, but it alone begins with
that name.

This is a sparse operator: W[p, h] is the BM25 saturation (0 to 1) of the name in p, for h among the
best hits that say the name, and p the one document that begins with it. Nothing is stored for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes, Floats
from treering.journal import entries
from treering.records import KINDS
from treering.search import languages
from treering.search.hits import RowReader
from treering.search.ranking import Queries, Ranking, RowValues, Stage
from treering.search.relations.plan import alpha_of
from treering.search.snapshot import Snapshot
from treering.search.terms import terms

HITS: Final = 5  # the best hits whose names count; 3 to 8 find the same (2WikiMultihopQA)
NAMES: Final = 12  # the first names of a hit; 8 to 20 find the same
CANDIDATES: Final = 3  # documents with all words of a name whose first words are read
MOST_HOLDERS: Final = 2_000  # fragments with its rarest word beyond which a name does not count

HEAD_CHARS: Final = 160  # of a document whose first words may be a name

_WORD = re.compile(r"[^\W_](?:[\w'\u2019-]*\w)?")
_TITLE_END = re.compile(
    r"\s*(?:$|[:;,.()\[\]|/\u2013\u2014]|-\s)|[^\S\n]*\n"
    r"|\s+(?:is|was|are|were|has|had|ist|war|est|fut|es|fue|era)\b"
)
"""The end of a title or of a subject: "Leo Fong: Leo Fong", "Leo Fong was". A headline goes on:
"Leo Fong sues". Counting headlines cost 0.6 points on MultiHop-RAG."""

_INITIAL: Final = 2  # letters of "J." and "St.", behind which a name goes on
_PARTICLE = re.compile(r"of|the|de|del|di|da|la|le|von|van|der|den|al|bin|ibn")

TextNames = Mapping[str, NDArray[np.uint32]]
"""The terms of names, by the name in plain words."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A text supports the text about a person or thing that it names."""

    stage: ClassVar[Stage] = Stage.MENTIONS
    is_evidence: ClassVar[bool] = True

    name: str = "mention"

    def contribute(self, queries: Queries, ranking: Ranking) -> RowValues | None:
        """Return the support by the best hits of the documents that they name."""
        alpha, reader = alpha_of(ranking.plan, "text", self.name), queries.rows
        if not alpha or reader is None or "text" not in ranking.snapshot.kinds:
            return None
        finder = _Finder(reader, ranking.snapshot)
        rows: list[Codes] = []
        values: list[Floats] = []
        for number, query in enumerate(queries.texts):
            hits = reader.allowed.best(ranking, number, HITS)
            support = finder.support(ranking, number, query, hits)
            rows.append(np.array(list(support), dtype=np.int64))
            given = np.array([alpha * value for value in support.values()], dtype=np.float32)
            # Scores have their share of the kind of content already.
            values.append(given if ranking.share is None else given / ranking.share[rows[-1]])
        return RowValues(rows, values)


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds the documents that hits name."""

    reader: RowReader
    snapshot: Snapshot

    def support(self, ranking: Ranking, number: int, query: str, hits: Codes) -> dict[int, float]:
        """Return the support of rows by the best hits of a query: the most that one gives."""
        assert ranking.standings is not None  # known before any hit is looked at
        centre = float(ranking.standings.centre[number])
        asked = set(terms(query)[:, 0].tolist())
        links = self._links(hits, asked)
        if not links:
            return {}
        heads = entries.beginnings(
            self.reader.reader,
            [int(self.snapshot.entry[row]) for _, _, row, _ in links],
            HEAD_CHARS,
        )
        named: dict[tuple[int, str], list[tuple[int, float]]] = {}
        for hit, name, row, room in links:
            head = heads.get(int(self.snapshot.entry[row]), "")
            if _is_title(name, head):
                named.setdefault((hit, name), []).append((row, room))
        support: dict[int, float] = {}
        for (hit, _), targets in named.items():
            if len(targets) == 1:  # of several, any may be meant
                [(row, room)] = targets
                above = max(float(ranking.scores[hit, number]) - centre, 0.0)
                support[row] = max(support.get(row, 0.0), above * room)
        return support

    def _links(self, hits: Codes, asked: set[int]) -> list[tuple[int, str, int, float]]:
        """Return hit, name, a row that may be about it, and the room it gives to the name."""
        quotes = self.reader.quotes(hits)
        said = [
            (hit, name)
            for hit, quote in zip(hits.tolist(), quotes, strict=True)
            for name in _new(quote.text, asked)
        ]
        holders = self.snapshot.lexical.holders([of for _, (_, of) in said], MOST_HOLDERS)
        links: list[tuple[int, str, int, float]] = []
        for (hit, (name, _)), (rows, rooms) in zip(said, holders, strict=True):
            is_head = self._begins_another(rows, hit)
            best = np.argsort(-rooms[is_head], kind="stable")[:CANDIDATES]
            chosen = zip(rows[is_head][best].tolist(), rooms[is_head][best].tolist(), strict=True)
            links += [(hit, name, row, room) for row, room in chosen]
        return links

    def _begins_another(self, rows: Codes, hit: int) -> NDArray[np.bool_]:
        """Return which rows are the first of a document of text other than that of a hit."""
        items = self.snapshot.items
        is_text = self.snapshot.kind[rows] == KINDS.index("text")
        is_other = items.document[rows] != items.document[hit]
        first: NDArray[np.bool_] = is_text & is_other & (items.position[rows] == 0)
        return first


def _is_title(name: str, head: str) -> bool:
    """Return whether a text that begins with ``head`` has a name, in plain words, as its title."""
    if not _in_words(head).startswith(name):
        return False
    # A sign for letters, such as ℡, is a word in plain text only.
    spans = list(islice(languages.spans_of(head), len(name.split())))
    return bool(spans) and _TITLE_END.match(head, spans[-1][1]) is not None


def _new(text: str, asked: set[int]) -> list[tuple[str, NDArray[np.uint32]]]:
    """Return the first names of a text that are not among the terms ``asked``."""
    new = ((name, of) for name, of in names_in(text).items() if not asked.issuperset(of))
    return list(islice(new, NAMES))


def names_in(text: str) -> TextNames:
    """Return the names in a text, in order: words with capitals in a row, such as Leo Fong.

    A particle may come between ("Ermengarde of Tours"). A stop word is not a name ("He");
    behind one, a name counts with it and without: "The Last Coupon", "Then Ana".
    """
    names: dict[str, NDArray[np.uint32]] = {}
    for run in _runs(text):
        first, _, rest = run.partition(" ")
        for name in (run, rest) if rest and not len(terms(first)) else (run,):
            of_name = terms(name)[:, 0]
            if len(of_name):
                names.setdefault(_in_words(name), of_name)
    return names


def _runs(text: str) -> Iterator[str]:
    """Yield the stretches of words with capitals, with the particles between."""
    start = stop = last = -1  # of a stretch, and the length of its last word
    for word in _WORD.finditer(text):
        if not word[0][0].isupper():
            continue
        if start >= 0 and not _joins(text[stop : word.start()], last):
            yield text[start:stop]
            start = -1
        start = word.start() if start < 0 else start
        stop, last = word.end(), len(word[0])
    if start >= 0:
        yield text[start:stop]


def _joins(gap: str, last: int) -> bool:
    """Return whether a name goes on behind a gap that follows a word of ``last`` letters."""
    words = gap.split()
    return (words == ["."] and last <= _INITIAL) or all(map(_PARTICLE.fullmatch, words))


def _in_words(text: str) -> str:
    """Return a text in plain words, to compare how texts begin; it ends with a space."""
    return "".join(f"{word} " for word in languages.words_of(languages.plain(text)))
