"""Asides: what is seen at once is what the whole expression says."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from treering.views.facts.asides import _ASIDE, _UNASSERTED, is_aside, is_unasserted
from treering.views.facts.tokens import words

WORDS = [
    "if",
    "would",
    "wish",
    "wishes",
    "might",
    "may",
    "May",
    "maybe",
    "perhaps",
    "probably",
    "could",
    "should",
    "imagine",
    "pretend",
    "dreamt",
    "used",
    "to",
    "almost",
    "considering",
    "thinking",
    "think",
    "planned",
    "wanted",
    "hope",
    "hopes",
    "hoping",
    "going",
    "gonna",
    "will",
    "won't",
    "suppose",
    "when",
    "before",
    "until",
    "unless",
    "says",
    "said",
    "told",
    "asked",
    "remember",
    "joke",
    "jk",
    "kidding",
    "story",
    "novel",
    "character",
    "quote",
    "nobody",
    "no",
    "one",
    "not",
    "true",
    "believes",
    "temporary",
    "for",
    "now",
    "this",
    "week",
    "back",
    "in",
    "came",
    "back",
    "the",
    "summer",
    "1999",
    "2026",
    "I'll",
    "he'd",
    "IF",
    "MAY",
    "I",
    "moved",
    "to",
    "Porto",
    "ſay",
    "Kidding",
    "“so”",
]
JOINTS = (" ", ", ", "-", "'", "_", '"', "\n", "")


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(JOINTS)), max_size=8))
@example([(word, " ") for word in ("going", "to")])
@example([("won't", "")])
def test_an_aside_is_what_the_expression_finds(parts: list[tuple[str, str]]) -> None:
    sentence = "".join(word + joint for word, joint in parts)
    assert is_aside(sentence) == (_ASIDE.search(sentence) is not None)
    unasserted = is_unasserted(sentence, words(sentence))
    assert unasserted == (_UNASSERTED.search(sentence) is not None)


@given(st.text(max_size=40))
def test_any_text_is_an_aside_where_the_expression_finds_one(sentence: str) -> None:
    assert is_aside(sentence) == (_ASIDE.search(sentence) is not None)
