"""Signals of texts: the source that a question names, its parts, and names in the best hits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from treering.arrays import Codes
from treering.journal import entries, sources
from treering.journal.space import SpaceReader
from treering.records import KINDS
from treering.search.hits import RowReader
from treering.search.ranking import Ranking, RowValues, Stage, top_rows
from treering.search.relations.contract import alpha_of
from treering.search.scores import standardise
from treering.search.snapshot import Snapshot
from treering.search.terms import plain, spans_of, terms, words_of

BEST_ROWS: Final = 64  # rows whose sources are read

MOST_CHARS: Final = 2_000
"""A longer text is not a question."""

MOST_WORDS: Final = 8  # of the name of a source
LEAST_LETTERS: Final = 4  # of a name, without "ai" and "go"

_HOST = re.compile(r"\w+://(?:[^/@]*@)?([^/:?#]*)")
_PARENTHESIS = re.compile(r"\([^()]*\)")
_EXTENSION = re.compile(r"\.\w{1,5}$")


@dataclass(frozen=True, slots=True)
class NamedSource:
    """A question that names a source asks for its texts: "What did The Verge write about …?".

    Texts of a source need not name it. Only the sources of the best rows are read.
    """

    stage: ClassVar[Stage] = Stage.SOURCES
    is_evidence: ClassVar[bool] = False

    name: str = "source"

    def contribute(self, ranking: Ranking) -> RowValues | None:
        """Return a bonus for those of the best rows whose source is named."""
        weight, reader, snapshot = ranking.weight(self.name), ranking.rows, ranking.snapshot
        if weight is None or reader is None:
            return None
        weights = np.broadcast_to(weight, len(snapshot))
        best = top_rows(ranking.scores, BEST_ROWS, reader.allowed)
        named = _of_named_sources(reader.reader, snapshot, ranking.search.query, best)
        named = named[weights[named] != 0]
        return RowValues(named, weights[named])


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
    joined = {"".join(_words(name)) for name in names}
    return {name for name in joined if len(name) >= LEAST_LETTERS}


def _words(text: str) -> list[str]:
    return words_of(plain(text.replace("_", " ")))


def _grams(query: str) -> set[str]:
    """Return possible names in a query: words in a row, and single ones with a capital letter."""
    if len(query) > MOST_CHARS:
        return set()
    words = _words(query)
    grams = {
        "".join(words[start:stop])
        for start in range(len(words))
        for stop in range(start + 2, min(start + MOST_WORDS, len(words)) + 1)
    }
    grams |= {
        "".join(_words(word))
        for word in re.findall(r"\w+", query)
        if word[0].isupper() or word[0].isdigit()
    }
    return grams


LEAST_TERMS: Final = 6
"""Of a part: 5 to 8 find the same (MultiHop-RAG). Questions of other sets hardly have two such
parts."""

MOST_PARTS: Final = 8  # the last turns of a chat may have more

_SPLIT: Final = re.compile(
    r"[,;:?!]\s+|[\u3001\u3002\uff0c\uff1b\uff1f]|\s[-\u2013\u2014]\s|\b(?:and|or|but|while|who|"
    r"which|whose|that|as|after|before|between|when|where|because|with|und|oder|aber|et|ou|y|o)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Parts:
    """A long question asks for texts that answer one of its parts.

    "Which company, that the Verge says bought the maker of trackers, is said by the Age to pay for
    its place in browsers?" asks for two texts, and each holds the words of one part only.
    """

    stage: ClassVar[Stage] = Stage.QUESTION
    is_evidence: ClassVar[bool] = False

    name: str = "parts"

    def contribute(self, ranking: Ranking) -> RowValues | None:
        """Return BM25 of the part that a row answers best, in standard deviations."""
        weight, search, snapshot = ranking.weight(self.name), ranking.search, ranking.snapshot
        if weight is None or search.mode == "dense" or len(parts := parts_of(search.query)) < 2:
            return None
        best = np.full(len(snapshot), -np.inf, dtype=np.float32)
        for part in parts:
            np.maximum(best, standardise(snapshot.lexical.score(terms(part))), out=best)
        best *= weight
        return RowValues(None, best)


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


BEST_HITS: Final = 5  # the best hits whose names count; 3 to 8 find the same (2WikiMultihopQA)
MOST_NAMES: Final = 12  # the first names of a hit; 8 to 20 find the same
CANDIDATES: Final = 3  # documents with all words of a name whose first words are read
MOST_NAME_HOLDERS: Final = (
    2_000  # fragments with its rarest word beyond which a name does not count
)

HEAD_CHARS: Final = 160  # of a document whose first words may be a name

_NAME_WORD = re.compile(r"[^\W_](?:[\w'\u2019-]*\w)?")
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
    """A text supports the text about a person or thing that it names: the second hop of a question.

    "Who is the mother of the director of Blood Street?" finds the text on the film, which says that
    Leo Fong directed it. The text on Leo Fong shares no word with the question, but it alone begins
    with that name.

    This is a sparse operator: W[p, h] is the BM25 saturation (0 to 1) of the name in p, for h among
    the best hits that say the name, and p the one document that begins with it. Nothing is stored.
    """

    stage: ClassVar[Stage] = Stage.MENTIONS
    is_evidence: ClassVar[bool] = True

    name: str = "mention"

    def contribute(self, ranking: Ranking) -> RowValues | None:
        """Return the support by the best hits of the documents that they name."""
        alpha, reader = alpha_of(ranking.plan, "text", self.name), ranking.rows
        if not alpha or reader is None or "text" not in ranking.snapshot.kinds:
            return None
        hits = ranking.best(BEST_HITS, reader.allowed)
        support = _Finder(reader, ranking.snapshot).support(ranking, hits)
        rows = np.array(list(support), dtype=np.int64)
        given = np.array([alpha * value for value in support.values()], dtype=np.float32)
        # Scores have their share of the kind of content already.
        return RowValues(rows, given if ranking.share is None else given / ranking.share[rows])


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds the documents that hits name."""

    reader: RowReader
    snapshot: Snapshot

    def support(self, ranking: Ranking, hits: Codes) -> dict[int, float]:
        """Return the support of rows by the best hits: the most that one gives."""
        assert ranking.standings is not None  # known before any hit is looked at
        centre = ranking.standings.centre
        asked = set(terms(ranking.search.query)[:, 0].tolist())
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
                above = max(float(ranking.scores[hit]) - centre, 0.0)
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
        holders = self.snapshot.lexical.holders([of for _, (_, of) in said], MOST_NAME_HOLDERS)
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
    spans = list(islice(spans_of(head), len(name.split())))
    return bool(spans) and _TITLE_END.match(head, spans[-1][1]) is not None


def _new(text: str, asked: set[int]) -> list[tuple[str, NDArray[np.uint32]]]:
    """Return the first names of a text that are not among the terms ``asked``."""
    new = ((name, of) for name, of in names_in(text).items() if not asked.issuperset(of))
    return list(islice(new, MOST_NAMES))


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
    for word in _NAME_WORD.finditer(text):
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
    return "".join(f"{word} " for word in words_of(plain(text)))
