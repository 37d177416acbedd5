"""BM25 over an in-memory inverted index that grows by sorted runs and shrinks by marks.

A row keeps the *slot* that it got when it came, and postings hold slots. Callers count the present
rows, from 0. So no posting changes when a row goes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treering.arrays import (
    WORTHWHILE,
    Codes,
    Floats,
    are_among,
    borrow_array,
    for_each,
    for_each_piece,
    without,
)
from treering.search.postings import (
    MAX_COUNT,
    PIECE,
    PostingParts,
    PostingRun,
    Slots,
    TermPostings,
    count_postings,
    in_pieces,
    join_postings,
    joined_if_few,
    merge_runs,
)
from treering.search.terms import Terms

K1 = 1.2
B = 0.4  # below the usual 0.75: short turns must not win by being short (LoCoMo + 1 point)
MOST_GONE = 0.25  # the share of slots without a row from which all postings are rewritten
WIDE = 8
"""A term that one row in so many holds is wide: its column of weights stays, without its idf. The
names of speakers are such terms, and questions name them, too."""

LATE = 64  # of all slots, one in so many may be newer than the column of a wide term
MOST_COLUMNS = 4  # columns of wide terms that stay, four bytes a row each
TERMS_SEEN = 1_024  # terms of queries whose postings stay at hand


@dataclass(frozen=True, slots=True)
class Corpus:
    """The statistics of all rows of several indexes: rows, terms, and the rows with each term."""

    rows: int
    terms: int
    frequencies: Mapping[int, int]


class Lexical:
    """BM25 scores of every row. Immutable: a change makes a new index that shares the old runs."""

    def __init__(self) -> None:
        self._runs: tuple[PostingRun, ...] = ()
        self._lengths: NDArray[np.int32] = np.zeros(0, dtype=np.int32)  # in terms, by slot
        self._gone = np.zeros(0, dtype=np.int32)  # slots without a row, ascending
        self._is_gone: NDArray[np.bool_] | None = None  # by slot, if there are any
        self._total = 0  # terms of all rows
        self._norm: Floats | None = None  # made by the first search
        self._terms_seen: dict[int, TermPostings] = {}
        self._columns: dict[int, Floats] = {}  # weights of wide terms by slot, for an idf of 1
        self._gone_terms: NDArray[np.uint32] | None = None  # of postings whose row is gone, sorted
        self._corpus: Corpus | None = None  # whose statistics count instead of those of the rows

    def __len__(self) -> int:
        return len(self._lengths) - len(self._gone)

    def extend(self, flat: Terms, sizes: NDArray[np.int64]) -> Lexical:
        """Return the index with more rows; row i has the next ``sizes[i]`` terms of ``flat``."""
        return self.grown(*count_postings(flat, sizes))

    def grown(self, postings: PostingRun, lengths: NDArray[np.int32]) -> Lexical:
        """Return the index with ``len(lengths)`` rows more, which ``postings`` count from 0."""
        result = Lexical()
        first = len(self._lengths)
        run = replace(postings, rows=postings.rows + np.int32(first), first=first)
        result._runs = tuple(merge_runs([*self._runs, run]))
        result._lengths = np.concatenate([self._lengths, lengths])
        result._total = self._total + int(lengths.sum())
        result._gone, result._gone_terms = self._gone, self._gone_terms
        result._keep(self)
        if self._is_gone is not None:
            more = np.zeros(len(lengths), dtype=np.bool_)
            result._is_gone = np.concatenate([self._is_gone, more])
        return result

    def among(self, corpus: Corpus) -> Lexical:
        """Return an index of the same rows that scores by the statistics of a larger corpus."""
        result = copy(self)
        result._corpus, result._norm = corpus, None
        result._terms_seen, result._columns = {}, {}
        return result

    def corpus(self, terms: Collection[int]) -> Corpus:
        """Return the statistics of the rows, with the frequencies of some terms."""
        asked = list(terms)
        frequencies = self._frequencies(np.array(asked, dtype=np.uint32)).tolist()
        return Corpus(len(self), self._total, dict(zip(asked, frequencies, strict=True)))

    def shrunk(self, rows: Codes) -> Lexical:
        """Return the index without some rows, given ascending; the later ones move up."""
        gone = self._slots(rows).astype(np.int32)
        result = Lexical()
        result._runs, result._lengths = self._runs_without(gone), self._lengths
        result._total = self._total - int(self._lengths[gone].sum())
        result._gone = np.insert(self._gone, np.searchsorted(self._gone, gone), gone)
        is_gone = np.zeros(len(self._lengths), dtype=np.bool_)
        is_gone[result._gone] = True
        result._is_gone = is_gone
        result._keep(self)
        if len(result._gone) > MOST_GONE * len(self._lengths):
            result._compact(is_gone)
        return result

    def _keep(self, before: Lexical) -> None:
        """Take over the results of an index of nearly the same rows."""
        if self._average() == before._average():
            self._columns = before._columns

    def _runs_without(self, gone: Slots) -> tuple[PostingRun, ...]:
        """Return the runs after some more slots have lost their rows, given ascending."""
        firsts = [run.first for run in self._runs[1:]]
        # Each run has the postings of the slots up to the next one.
        parts = np.split(gone, np.searchsorted(gone, firsts))
        return tuple(
            run.after(part) if len(part) else run
            for run, part in zip(self._runs, parts, strict=False)
        )

    def group_rows(self, groups: Codes, size: int) -> Lexical:
        """Return an index of ``size`` rows, each with all terms of the rows of its group.

        ``groups`` has the new row, from 0, of every row.
        """
        group = np.full(len(self._lengths), -1, dtype=np.int64)
        group[self._slots(np.arange(len(self)))] = groups
        rows = np.concatenate([group[run.rows] for run in self._runs] or [np.zeros(0, np.int64)])
        there = rows >= 0
        # A key is the term above the row, so equal ones are postings of one term in one group.
        flat = [run.flat_terms().astype(np.uint64) << np.uint64(32) for run in self._runs]
        keys = np.concatenate(flat or [np.zeros(0, np.uint64)])[there]
        keys |= rows[there].astype(np.uint64)
        counts = np.concatenate([run.counts for run in self._runs] or [np.zeros(0, np.uint16)])
        unique, place = np.unique(keys, return_inverse=True)
        total = np.bincount(place, weights=counts[there], minlength=len(unique))
        run = PostingRun.in_order(
            (unique >> np.uint64(32)).astype(np.uint32),
            (unique & np.uint64(0xFFFFFFFF)).astype(np.int32),
            np.minimum(total, MAX_COUNT).astype(np.uint16),
        )
        sizes = without(self._lengths, self._gone)
        lengths = np.bincount(groups, weights=sizes, minlength=size).astype(np.int32)
        return Lexical().grown(run, lengths)

    def _compact(self, is_gone: NDArray[np.bool_]) -> None:
        """Renumber the rows, so that each has the slot of its own number."""
        alive = ~is_gone
        number = (np.cumsum(alive) - 1).astype(np.int32)
        runs = [
            replace(run.keep_rows(alive, number), first=int(np.count_nonzero(alive[: run.first])))
            for run in self._runs
        ]
        self._runs = tuple(run for run in runs if len(run.rows))
        lengths = self._lengths[alive]
        self._lengths = lengths
        self._gone, self._is_gone = self._gone[:0], None
        self._columns = {}

    def _slots(self, rows: Codes) -> Codes:
        """Return the slots of rows: each number plus the empty slots before it."""
        if not len(self._gone):
            return rows
        before = self._gone - np.arange(len(self._gone))
        slots: Codes = rows + np.searchsorted(before, rows, side="right")
        return slots

    def score(self, query: Terms) -> Floats:
        """Return BM25 of every row for a query, shape (N,); each term of it counts once."""
        size = len(self._lengths)
        scores: Floats = borrow_array((size,))
        self._norms()  # made before two threads ask for it
        looked_up = dict(zip(query[:, 0].tolist(), self._looked_up(query[:, 0]), strict=True))
        known = {t: c for t, c in self._columns.items() if size - len(c) <= size // LATE}
        new = self._new_columns(looked_up, known)
        columns = known | new

        def add(at: int) -> None:
            low, high = size * at // parts, size * (at + 1) // parts
            scores[low:high] = 0
            for term, postings in looked_up.items():
                first, idf = low, postings.idf
                if term in columns:
                    column = columns[term][low:high]
                    first += len(column)
                    if term in new:
                        column[:] = 0
                        self._add(columns[term], postings, np.float32(1), low, high)
                    _add_times(scores[low:first], column, idf)
                self._add(scores, postings, idf, first, high)

        parts = 2 if size >= WORTHWHILE else 1
        for_each(add, parts, size)
        if len(known) + len(new) > MOST_COLUMNS:
            known = {}
        self._columns = known | new
        return without(scores, self._gone)

    def _add(
        self, scores: Floats, postings: TermPostings, idf: np.float32, low: int, high: int
    ) -> None:
        """Add the weights of a term at the slots from ``low`` to ``high``."""
        norms = self._norms()
        for slots, counts in in_pieces(postings, low, high) if low < high else ():
            # A row occurs once in the postings of a term, so += loses nothing.
            weights = _weights(counts, norms[slots])
            weights *= idf
            scores[slots] += weights

    def _new_columns(
        self, looked_up: Mapping[int, TermPostings], columns: Mapping[int, Floats]
    ) -> dict[int, Floats]:
        """Return room for the columns of wide terms that lack one."""
        size = len(self._lengths)
        if size < WORTHWHILE:
            return {}
        wide = [
            term
            for term, postings in looked_up.items()
            if term not in columns and sum(map(len, postings.slots)) >= size // WIDE
        ]
        return {term: borrow_array((size,)) for term in wide[:MOST_COLUMNS]}

    def _frequencies(self, terms: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return how many rows hold each term, without reading postings."""
        held = -self._lost(terms)
        for run in self._runs:
            held += run.sizes(terms)
        return held

    def _lost(self, terms: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return how many postings of each term are of rows that are gone."""
        gone = self._gone_terms
        if gone is None:
            every = [run.gone for run in self._runs if len(run.gone)]
            # Each is sorted: a stable sort only merges them.
            gone = np.concatenate(every or [np.zeros(0, dtype=np.uint32)])
            gone.sort(kind="stable")
            self._gone_terms = gone
        return np.asarray(gone.searchsorted(terms, "right") - gone.searchsorted(terms))

    def score_text(self, query: Terms, text: Terms) -> float:
        """Return BM25 of a text that is not among the rows, by the statistics of the rows."""
        counts: dict[int, int] = dict(text.tolist())
        norm = K1 * (1 - B + B * sum(counts.values()) / self._average())
        shared = query[np.isin(query[:, 0], text[:, 0]), 0]
        return sum(
            float(postings.idf) * counts[term] * (K1 + 1) / (counts[term] + norm)
            for term, postings in zip(shared.tolist(), self._looked_up(shared), strict=True)
        )

    def holders(
        self, phrases: Sequence[NDArray[np.uint32]], most: int
    ) -> list[tuple[Codes, Floats]]:
        """Return, for each list of terms, the rows that hold all of them, ascending, and how much.

        That is their BM25 as a share of the most possible. If over ``most`` rows hold even the
        rarest term, return no rows.
        """
        if not phrases:
            return []
        terms = np.unique(np.concatenate(phrases))
        postings = dict(zip(terms.tolist(), self._looked_up(terms), strict=True))
        return [
            self._rows_with_all([postings[term] for term in of.tolist()], most) for of in phrases
        ]

    def _rows_with_all(self, postings: list[TermPostings], most: int) -> tuple[Codes, Floats]:
        flat = [join_postings(of_term) for of_term in postings]
        slots, _ = min(flat, key=lambda of_term: len(of_term[0]))
        if len(slots) > most:
            slots = slots[:0]
        elif self._is_gone is not None:
            slots = slots[~self._is_gone[slots]]
        places: list[NDArray[np.intp]] = []
        for rows, _ in flat:
            at = np.minimum(rows.searchsorted(slots), max(len(rows) - 1, 0))
            there = rows[at] == slots
            slots, places = slots[there], [*(place[there] for place in places), at[there]]
        norm = self._norms()[slots]
        held = np.zeros(len(slots), dtype=np.float32)
        for of_term, (_, counts), at in zip(postings, flat, places, strict=True):
            held += of_term.idf * counts[at] / (counts[at] + norm)
        total = sum(float(of_term.idf) for of_term in postings)
        return slots - np.searchsorted(self._gone, slots), held / max(total, 1e-9)

    def _norms(self) -> Floats:
        """Return the part of BM25's denominator that depends on the length of each slot."""
        if self._norm is None:
            slope = np.float32(K1 * B / np.float32(self._average()))
            lengths = self._lengths
            norm = np.empty(len(lengths), dtype=np.float32)

            def fill(rows: slice) -> None:
                np.multiply(lengths[rows], slope, out=norm[rows], dtype=np.float32)
                norm[rows] += np.float32(K1 * (1 - B))

            for_each_piece(fill, len(norm))
            self._norm = norm
        return self._norm

    def _average(self) -> float:
        """Return the mean length of a row in terms, of many rows by four digits.

        So it mostly stays the same when a row comes or goes.
        """
        of_rows = (len(self), self._total)
        rows, total = of_rows if self._corpus is None else (self._corpus.rows, self._corpus.terms)
        mean = total / max(rows, 1)
        return max(mean if rows < WORTHWHILE else float(f"{mean:.4g}"), 1e-9)

    def coverage(self, query: Terms, rows: Codes) -> NDArray[np.float64]:
        """Return the share, 0 to 1, of the query's idf mass, unknown terms too, in some rows."""
        slots = self._slots(rows).astype(np.int32)  # as those of terms, or these were converted
        low, high = slots.min(initial=len(self._lengths)), slots.max(initial=0)
        held = np.zeros(len(rows))
        total = 0.0
        for postings in self._looked_up(query[:, 0]):
            idf = float(postings.idf)
            total += idf
            for holders in postings.slots:
                if holders[0] <= high and holders[-1] >= low:
                    held += idf * are_among(slots, holders)
        return held / total if total else held

    def _looked_up(self, terms: NDArray[np.uint32]) -> list[TermPostings]:
        """Return the postings of terms, which stay at hand."""
        looked_for = terms.tolist()
        seen = [self._terms_seen.get(term) for term in looked_for]
        entries = [entry for entry in seen if entry is not None]
        if len(entries) == len(looked_for):
            return entries
        parts = self._of_runs(terms)
        held = np.array([sum(map(len, slots)) for slots, _ in parts], dtype=np.int64)
        held -= self._lost(terms)
        idfs = self._idf(terms, held)
        entries = [
            TermPostings(idf, *joined_if_few(slots, counts))
            for idf, (slots, counts) in zip(idfs, parts, strict=True)
        ]
        if len(self._terms_seen) >= TERMS_SEEN:
            self._terms_seen.clear()
        self._terms_seen.update(zip(looked_for, entries, strict=True))
        return entries

    def _of_runs(self, terms: NDArray[np.uint32]) -> list[PostingParts]:
        """Return the slots that hold each of some terms, and how often, run by run."""
        parts: list[PostingParts] = [([], []) for _ in terms]
        for run in self._runs:
            for (slots, counts), where in zip(parts, run.postings(terms), strict=True):
                if where.stop > where.start:
                    slots.append(run.rows[where])
                    counts.append(run.counts[where])
        return parts

    def _idf(self, terms: NDArray[np.uint32], frequency: NDArray[np.int64]) -> NDArray[Any]:
        """Return Robertson's idf with + 1 inside the logarithm, which is never negative."""
        rows = len(self)
        if self._corpus is not None:
            rows, known = self._corpus.rows, self._corpus.frequencies
            pairs = zip(terms.tolist(), frequency.tolist(), strict=True)
            frequency = np.array([known.get(term, own) for term, own in pairs], dtype=np.int64)
        return np.log1p((rows - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)


def _add_times(scores: Floats, column: Floats, idf: np.float32) -> None:
    """Add a column times a number to scores, in pieces that fit the cache."""
    for start in range(0, len(scores), PIECE):
        piece = slice(start, start + PIECE)
        scores[piece] += column[piece] * idf


def _weights(counts: NDArray[np.uint16], norm: Floats) -> Floats:
    """Return BM25 of rows that hold a term so often, for an idf of 1; ``norm`` changes.

    The idf is a factor of it in any case, so that equal texts get equal scores.
    """
    weights = counts.astype(np.float32)
    norm += weights
    weights *= np.float32(K1 + 1)
    weights /= norm
    return weights
