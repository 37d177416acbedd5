"""The size of fragments in words or tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.errors import InputError
from treering.llm.tokens import tokens_upto
from treering.split import FragmentSize, split
from treering.split.text import words_upto

STORY = "The boat left at noon. Nobody saw it go.\n\n" * 60


@pytest.mark.parametrize("count", [5, 50, 500])
def test_no_fragment_has_more_words_than_it_may(count: int) -> None:
    cuts = split(STORY, "text", count, words_upto)
    lengths = [len(STORY[start:stop].split()) for start, stop in cuts]
    assert max(lengths) <= count
    assert "".join(STORY[start:stop] for start, stop in cuts) == STORY
    # Sentences of five and four words: what is cut sooner is cut at a border.
    assert all(length > count - 9 for length in lengths[:-1])


@given(st.text(max_size=300), st.integers(1, 20))
def test_fragments_cover_any_text_without_gap(text: str, count: int) -> None:
    for lengths in (words_upto, tokens_upto, None):
        pieces = split(text, "text", count, lengths)
        left = "".join(text[start:stop] for start, stop in pieces)
        assert "".join(left.split()) == "".join(text.split())


def test_a_size_reads_as_it_is_written() -> None:
    for text in ("500 words", "512 tokens", "1000 characters"):
        assert str(FragmentSize.parse(text)) == text


def test_what_is_no_size_is_refused() -> None:
    for text in ("0 words", "500", "words", "-1 words", "500 pages", "5.5 words"):
        with pytest.raises(InputError, match="a number from 1 to 999999999 and one of characters"):
            FragmentSize.parse(text)
