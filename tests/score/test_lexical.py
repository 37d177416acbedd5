"""BM25 equals its formula and a reference implementation, however the index came to be."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from treering import arrays
from treering.arrays import Floats
from treering.search.lexical import K1, MOST_COLUMNS, B, Lexical
from treering.search.postings import SEALED
from treering.search.terms import Terms

VOCABULARY = 12
Document = list[int]
documents = st.lists(st.lists(st.integers(1, VOCABULARY), max_size=12), max_size=20)
questions = st.lists(st.integers(1, VOCABULARY + 3), max_size=6)


def counted(document: Document) -> Terms:
    found = [(term, document.count(term)) for term in sorted(set(document))]
    return np.array(found, dtype=np.uint32).reshape(-1, 2)


def extended(start: Lexical, corpus: list[Document]) -> Lexical:
    rows = [counted(one) for one in corpus]
    flat = np.concatenate([np.zeros((0, 2), dtype=np.uint32), *rows])
    return start.extend(flat, np.array([len(one) for one in rows], dtype=np.int64))


def index(corpus: list[Document]) -> Lexical:
    return extended(Lexical(), corpus)


def formula(corpus: list[Document], query: Document) -> list[float]:
    """BM25 with idf = ln(1 + (N - n + 0.5)/(n + 0.5)), each term of the query once."""
    if not corpus:
        return []
    average = sum(map(len, corpus)) / len(corpus)
    scores = []
    for document in corpus:
        score = 0.0
        for term in set(query):
            count = document.count(term)
            holding = sum(term in other for other in corpus)
            idf = math.log(1 + (len(corpus) - holding + 0.5) / (holding + 0.5))
            if count:
                norm = K1 * (1 - B + B * len(document) / average)
                score += idf * count * (K1 + 1) / (count + norm)
        scores.append(score)
    return scores


def assert_scores(found: Floats, expected: list[float]) -> None:
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@given(corpus=documents.filter(any), query=questions)
def test_scores_equal_the_reference_but_for_its_idf(
    corpus: list[Document], query: Document
) -> None:
    reference = BM25Okapi(corpus, k1=K1, b=B)
    size = len(corpus)
    for term in reference.idf:
        holding = sum(term in one for one in corpus)
        reference.idf[term] = math.log1p((size - holding + 0.5) / (holding + 0.5))
    assert_scores(index(corpus).score(counted(query)), reference.get_scores(sorted(set(query))))


@given(
    chunks=st.lists(documents, max_size=6),
    query=questions,
    erased=st.lists(st.booleans(), min_size=120, max_size=120),
)
def test_growing_in_chunks_and_shrinking_equals_an_index_made_at_once(
    chunks: list[list[Document]], query: Document, erased: list[bool]
) -> None:
    grown = Lexical()
    corpus: list[Document] = []
    for number, chunk in enumerate(chunks):
        grown = extended(grown, chunk)
        corpus += chunk
        if number % 2:
            kept = ~np.array(erased[: len(corpus)], dtype=np.bool_)
            grown = grown.shrunk(np.flatnonzero(~kept))
            corpus = [one for one, keep in zip(corpus, kept, strict=True) if keep]
    assert len(grown) == len(corpus)
    assert_scores(grown.score(counted(query)), formula(corpus, query))
    # What is gone counts no more, though its postings are still there.
    asked = counted(query)[:, 0].tolist()
    assert grown.corpus(asked) == index(corpus).corpus(asked)


@given(corpus=documents.filter(any), query=questions, row=st.integers(0, 19))
def test_a_text_scores_as_the_row_that_holds_it(
    corpus: list[Document], query: Document, row: int
) -> None:
    built, row = index(corpus), row % len(corpus)
    alone = built.score_text(counted(query), counted(corpus[row]))
    assert alone == pytest.approx(float(built.score(counted(query))[row]), rel=1e-5, abs=1e-6)


@given(corpus=documents.filter(any), query=questions.filter(bool))
def test_coverage_is_the_share_of_the_querys_idf_that_a_row_holds(
    corpus: list[Document], query: Document
) -> None:
    idf = {
        term: math.log1p((len(corpus) - n + 0.5) / (n + 0.5))
        for term in set(query)
        for n in [sum(term in one for one in corpus)]
    }
    held = [sum(idf[term] for term in idf if term in document) for document in corpus]
    coverage = index(corpus).coverage(counted(query), np.arange(len(corpus)))
    assert coverage == pytest.approx(np.array(held) / sum(idf.values()), abs=1e-5)


def test_an_empty_index_and_an_empty_query_score_nothing() -> None:
    assert Lexical().score(counted([1])).shape == (0,)
    assert index([[1], [2]]).score(counted([])).tolist() == [0, 0]
    assert index([[], []]).score(counted([1])).tolist() == [0, 0]


def test_a_large_index_is_scored_in_two_parts_as_the_formula_says() -> None:
    size, terms = arrays.WORTHWHILE + 1_000, 6
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, (size, terms)) * (
        rng.random((size, terms)) < [1, 0.5, 0.1, 0.01, 1e-3, 0]
    )
    start = Lexical()
    for first in range(0, size, size // 5):  # in runs, some of which both parts have slots of
        part = counts[first : first + size // 5]
        places, found = np.nonzero(part)
        flat = np.stack([found, part[places, found]], axis=1).astype(np.uint32)
        start = start.extend(flat, np.count_nonzero(part, axis=1))
    gone = np.array([3, size // 2, size - 1])
    index, counts = start.shrunk(gone), np.delete(counts, gone, axis=0)
    lengths = counts.sum(axis=1)
    holding = np.count_nonzero(counts, axis=0)
    idf = np.log(1 + (len(counts) - holding + 0.5) / (holding + 0.5))
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    expected = (idf * counts * (K1 + 1) / (counts + norm[:, None])).sum(axis=1)
    query = np.array([[term, 1] for term in range(terms)], dtype=np.uint32)
    np.testing.assert_allclose(index.score(query), expected, rtol=1e-4, atol=1e-5)
    rows = np.array([5, size // 2, size // 2 + 1, size - 4])
    share = ((counts[rows] > 0) * idf).sum(axis=1) / idf.sum()
    np.testing.assert_allclose(index.coverage(query, rows), share, rtol=1e-5)
    np.testing.assert_allclose(index.coverage(query, rows[:1]), share[:1], rtol=1e-5)


def grown(start: Lexical, counts: NDArray[np.int64]) -> Lexical:
    """An index with rows more, which hold each term so often."""
    rows, held = np.nonzero(counts)
    flat = np.stack([held, counts[rows, held]], axis=1).astype(np.uint32)
    return start.extend(flat, np.count_nonzero(counts, axis=1))


def query_of(terms: Iterable[int]) -> Terms:
    return np.array([[term, 1] for term in terms], dtype=np.uint32)


def test_what_wide_terms_give_is_kept_as_rows_come_and_go_and_changes_no_score() -> None:
    size, terms = arrays.WORTHWHILE + 40_000, MOST_COLUMNS + 3
    rng = np.random.default_rng(0)
    shares = [0.4] * (terms - 1) + [0.01]

    def rows(count: int) -> NDArray[np.int64]:
        is_held = rng.random((count, terms)) < shares
        return np.asarray(rng.integers(1, 3, (count, terms)) * is_held)

    counts = rows(size)
    index = grown(Lexical(), counts)
    for change in ("", "come", "go", "come", "go", "many come", "many go", "come"):
        before = index._columns
        if "come" in change:
            more = rows(size // 20 if "many" in change else 3)
            index, counts = grown(index, more), np.concatenate([counts, more])
        elif "go" in change:
            gone = np.arange(5, len(counts), 3 if "many" in change else 20_000)
            index, counts = index.shrunk(gone), np.delete(counts, gone, axis=0)
        for asked in ([0, 1], range(MOST_COLUMNS), rng.permutation(terms), range(MOST_COLUMNS)):
            query = query_of(asked)
            plain = grown(Lexical(), counts).score(query)  # has kept nothing
            np.testing.assert_allclose(index.score(query), plain, rtol=1e-5, atol=1e-6)
            assert len(index._columns) <= MOST_COLUMNS
        assert set(index._columns) == set(range(MOST_COLUMNS))
        if change in {"come", "go"}:
            assert index.score(query_of([0])).any()
            assert set(before) == set(range(MOST_COLUMNS))


def test_many_runs_score_as_one() -> None:
    rng = np.random.default_rng(0)
    rows = SEALED // 60 + 1
    counts = rng.integers(1, 3, (3 * rows, 90)) * (rng.random((3 * rows, 90)) < 0.7)
    index = Lexical()
    for first in range(0, len(counts), rows):
        index = grown(index, counts[first : first + rows])
    assert len(index._runs) == 3
    asked = query_of([3, 17, 89, 500])
    for changed, left in (
        (index, counts),
        (grown(index, counts[:2]), np.concatenate([counts, counts[:2]])),
        (index.shrunk(np.arange(0, len(counts), 50)), np.delete(counts, slice(0, None, 50), 0)),
    ):
        at_once = grown(Lexical(), left)
        np.testing.assert_array_equal(changed.score(asked), at_once.score(asked))
        assert changed.corpus([3, 500]) == at_once.corpus([3, 500])
