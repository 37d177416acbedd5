from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treering.views.tree.aggregate import central_sentences

WORDS = ["rain", "river", "harbour", "boat", "captain", "sails", "north"]
SENTENCES = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1).map(lambda words: " ".join(words) + "."),
    min_size=1,
    max_size=12,
)


def words(text: str) -> int:
    return len(text.split())


def test_texts_that_fit_are_kept_whole_and_said_once() -> None:
    texts = ["Ana sails. The harbour is calm.", "Ana sails."]
    assert central_sentences(texts, 50, words) == "Ana sails. The harbour is calm."


def test_a_sentence_about_what_all_speak_of_beats_greetings_and_asides() -> None:
    texts = [
        "Hello there! Ana sails her boat to the harbour.",
        "Thanks a lot! The boat of Ana reached the harbour at noon.",
        "Bye now! Somebody bought three lemons.",
    ]
    assert central_sentences(texts, 10, words) == "The boat of Ana reached the harbour at noon."


def test_a_sentence_longer_than_the_limit_is_cut_after_a_word() -> None:
    assert central_sentences(["one two three four five six"], 3, words) == "one two three"


@given(SENTENCES, st.integers(1, 20))
def test_a_summary_keeps_the_limit_and_holds_only_what_was_said(
    sentences: list[str], limit: int
) -> None:
    summary = central_sentences([" ".join(sentences)], limit, words)
    assert 0 < words(summary) <= limit
    assert set(summary.split()) <= set(" ".join(sentences).split())
