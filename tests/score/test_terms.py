"""Text to terms: what lexical scoring sees as the same word."""

from __future__ import annotations

import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.score.terms import dated, stem, terms

THREADS = 8
WAIT_S = 30.0
STARTS = ("gener", "communic", "national", "hope", "conspire", "adjust", "rely", "argu", "triplic")
ENDS = ("ational", "ousness", "fulness", "ization", "ements", "ingly", "edly", "ies", "ators", "s")


def same(one: str, other: str) -> bool:
    return np.array_equal(terms(one), terms(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Sisters", "sister"),
        ("Ana's sister", "ana sister"),
        ("Ana’s sister", "Ana's sister"),
        ("moved moving", "move moves"),
        ("getUserName", "get user name"),
        ("the cat and the dog", "cat dog"),
    ],
)
def test_forms_of_a_word_are_one_term(one: str, other: str) -> None:
    assert same(one, other)


def test_counts_are_kept() -> None:
    assert terms("porto porto lisbon")[:, 1].tolist() in ([1, 2], [2, 1])


def test_a_stop_word_with_an_apostrophe_is_not_another_word() -> None:
    assert len(terms("we'll")) == 0
    assert len(terms("well water")) == 2


def test_a_month_is_a_word() -> None:
    assert len(terms("may")) == 1


@given(st.text())
def test_any_text_has_terms_sorted_by_hash_each_once(text: str) -> None:
    found = terms(text)
    assert found.shape[1:] == (2,)
    assert (np.diff(found[:, 0].astype(np.int64)) > 0).all()
    assert (found[:, 1] > 0).all()


def test_a_date_is_put_in_words() -> None:
    assert dated("We met.", datetime(2026, 5, 3, tzinfo=UTC)) == "We met. 3 May 2026"
    assert dated("We met.", None) == "We met."


def test_threads_that_stem_at_once_get_the_stems_that_one_thread_gets() -> None:
    words = [f"{start}{end}" for start in STARTS for end in ENDS]
    alone = {word: stem(word) for word in words}

    def stemmed(seed: int) -> dict[str, str]:
        shuffled = random.Random(seed).sample(words, len(words))
        together.wait(WAIT_S)
        return {word: stem(word) for word in shuffled}

    interval = sys.getswitchinterval()
    together = threading.Barrier(THREADS)
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as threads:
            found = list(threads.map(stemmed, range(THREADS)))
    finally:
        sys.setswitchinterval(interval)
    assert all(stems == alone for stems in found)
