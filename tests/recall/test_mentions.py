"""Questions of two hops: what the best hits name, and the documents that begin with it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.embedders import HashingEmbedder
from treering import Memory
from treering.search.lexical import Lexical
from treering.search.signals.texts import _is_title, names_in

FILM = "Blood Street: Blood Street is a film of 1988 that Leo Fong directed after years on stage."
PERSON = "Leo Fong: Leo Fong, born in Canton, boxed and wrote. He lived to be ninety-four."
QUESTION = "who directed the film Blood Street, and where was he born"
OTHERS = [
    f"Film {number}: a film of {1950 + number} about a street, born of blood and where nobody lives"
    for number in range(30)
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "memory.db", embedder=HashingEmbedder()) as memory:
        for number, text in enumerate([FILM, *OTHERS, PERSON]):
            memory.add(text, source=f"text {number}")
        yield memory


def test_a_text_about_what_the_first_hit_names_is_found(memory: Memory) -> None:
    without = memory.search(QUESTION, mode="lexical", k=5, relations=["context"])
    assert without[0].text == FILM
    assert PERSON not in [hit.text for hit in without]
    hits = memory.search(QUESTION, mode="lexical", k=5)
    [person] = [hit for hit in hits if hit.text == PERSON]
    assert person.why.terms["mention"] > 0
    assert sum(person.why.terms.values()) == pytest.approx(person.score, abs=1e-4)
    assert hits[0].text == FILM
    assert "mention" not in hits[0].why.terms


def test_a_name_that_two_texts_begin_with_leads_to_neither(memory: Memory) -> None:
    memory.add("Leo Fong: Leo Fong is a restaurant in Leeds.", source="another")
    assert all(
        "mention" not in hit.why.terms for hit in memory.search(QUESTION, mode="lexical", k=5)
    )


def test_a_hit_that_a_filter_leaves_out_leads_nowhere(memory: Memory) -> None:
    hits = memory.search(QUESTION, mode="lexical", k=50, source="text 31")
    assert [hit.text for hit in hits] == [PERSON]
    assert "mention" not in hits[0].why.terms


def test_names_are_words_with_capitals_in_a_row() -> None:
    cases = [
        ("It was made by Leo Fong in Manila.", ["leo fong", "manila"]),
        ("Ermengarde of Tours was the wife of Lothair.", ["ermengarde of tours", "lothair"]),
        ("He met J. R. Ewing. Then Ana left.", ["j r ewing", "then ana", "ana"]),
        ("Søren Ødegård and Ян Ко", ["søren ødegård", "ян ко"]),
        ("nobody is named", []),
        ("", []),
    ]
    for text, names in cases:
        assert [name.strip() for name in names_in(text)] == names


rows_of_terms = st.lists(
    st.dictionaries(st.integers(1, 6), st.integers(1, 3), max_size=6), min_size=1, max_size=12
)


@given(rows=rows_of_terms, phrase=st.sets(st.integers(1, 7), min_size=1), data=st.data())
def test_holders_are_the_rows_with_all_terms_and_their_share_of_the_most(
    rows: list[dict[int, int]], phrase: set[int], data: st.DataObject
) -> None:
    lexical = Lexical()
    for row in rows:  # a run each: postings of a term are then of many
        flat = np.array(sorted(row.items()), dtype=np.uint32).reshape(-1, 2)
        lexical = lexical.extend(flat, np.array([len(flat)]))
    gone = sorted(data.draw(st.sets(st.integers(0, len(rows) - 1), max_size=len(rows) - 1)))
    lexical = lexical.shrunk(np.array(gone, dtype=np.int64))
    left = [row for place, row in enumerate(rows) if place not in gone]
    [(holders, share)] = lexical.holders([np.array(sorted(phrase), dtype=np.uint32)], 100)
    assert holders.tolist() == [n for n, row in enumerate(left) if phrase <= row.keys()]
    query = np.array([[term, 1] for term in sorted(phrase)], dtype=np.uint32)
    scores = lexical.score(query)
    held = lexical.corpus(sorted(phrase)).frequencies.values()
    idf = [math.log1p((len(left) - number + 0.5) / (number + 0.5)) for number in held]
    assert share == pytest.approx(scores[holders] / (2.2 * sum(idf)), abs=1e-5)


def test_a_phrase_of_common_words_has_no_holders() -> None:
    flat = np.array([[1, 1], [1, 1], [1, 1], [2, 1]], dtype=np.uint32)
    lexical = Lexical().extend(flat, np.array([1, 1, 2]))
    [(common, _), (rare, _)] = lexical.holders(
        [np.array([1], dtype=np.uint32), np.array([1, 2], dtype=np.uint32)], most=2
    )
    assert common.tolist() == []
    assert rare.tolist() == [2]


def test_a_name_is_the_title_of_a_text_that_does_not_go_on() -> None:
    cases = [
        ("Leo Fong: Leo Fong, born in Canton", True),
        ("Leo Fong was born in Canton", True),
        ("# Leo Fong\n\nBorn in Canton", True),
        ("Leo Fong (born 1928) boxed", True),
        ("Leo Fong", True),
        ("Leo Fong's last film", False),
        ("Leo Fong sues Leeds", False),
        ("Leo Fongs: a family", False),
    ]
    for head, is_title in cases:
        assert _is_title("leo fong ", head) == is_title
    assert not _is_title("tel ", "\u2121")  # a sign for letters is no word
