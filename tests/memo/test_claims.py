"""What the lines support is told from what they do not, without a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.embedders import HashingEmbedder, down
from treering.views.support import SupportCheck, claims_of, numbers_of

LINES = (
    "user: My sister Ines moved to Porto two weeks ago.",
    "bot: How does she like it?",
    "user: She loves it, but the rent is 1,200 euros a month.",
)


def supported(claim: str, lines: tuple[str, ...] = LINES) -> bool:
    found = SupportCheck(HashingEmbedder()).claims(claim, lines)
    return found == [(claim, True)]


@pytest.mark.parametrize(
    "claim",
    [
        "The sister of user moved to Porto.",
        "user says that Ines loves it.",
        "user tells bot about the rent of 1200 euros.",
        "Ines moved 2 weeks ago.",
        "user and bot talk.",
    ],
)
def test_what_was_said_is_supported(claim: str) -> None:
    assert supported(claim)


def test_what_was_not_said_is_not_supported() -> None:
    cases = [
        "The sister of user moved to Lisbon.",
        "The sister of Ana moved.",
        "The rent is 1300 euros.",
        "Ines moved three weeks ago.",
        "user talks banana with bot.",
        "The weather forecast promises heavy thunderstorms.",
        "The sister of user moved to Porto, which is a beautiful city.",
        "The sister of user moved to Porto and is unhappy there.",
        "Ines, who bought a yacht, moved to Porto.",
    ]
    for claim in cases:
        assert not supported(claim)


def test_a_language_without_spaces_is_checked_by_its_characters() -> None:
    lines = ("user: 我姐姐上周搬到了波尔图。",)
    assert supported("姐姐搬到波尔图。", lines)
    assert not supported("天气预报有雷暴雨。", lines)


def test_without_the_embedder_the_words_decide() -> None:
    claims = SupportCheck(HashingEmbedder(tamper=down)).claims("Ines moved. A yacht.", LINES)
    assert [held for _, held in claims] == [True, False]


def test_an_invented_clause_goes_and_the_rest_of_its_sentence_stays() -> None:
    claim = "Ines moved to Porto, which is a beautiful city."
    assert SupportCheck(HashingEmbedder()).claims(claim, LINES) == [
        ("Ines moved to Porto.", True),
        ("which is a beautiful city.", False),
    ]


def test_a_title_does_not_end_a_sentence() -> None:
    assert claims_of("Mr. Wang sees\nuser off.  Dr. J. Lee waits. Why?") == (
        "Mr. Wang sees user off.",
        "Dr. J. Lee waits.",
        "Why?",
    )


def test_numbers_are_read_with_thousands_and_in_words() -> None:
    assert numbers_of("5, 000 yuan for two, at 03:30, one by one") == {"5000", "2", "3", "30"}


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5), st.data())
def test_a_line_supports_itself(lines: list[str], data: st.DataObject) -> None:
    line = data.draw(st.sampled_from(lines))
    assert all(held for _, held in SupportCheck(HashingEmbedder()).claims(line, lines))
