"""A compressed text says what the whole one said: what turns a meaning never goes alone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.llm.tokens import tokens_upto
from treering.search.compression.bonds import bare, bonds
from treering.search.compression.contract import CompressibleText
from treering.search.compression.words import WordCompressor, word_information

RATES = tuple(tenths / 10 for tenths in range(1, 10))
PLAIN = "The {} {} a {} near the {} and the {}."
TURNED = (
    "{} did not {} the {}.",
    "{} didn't {} the {} or the {}.",
    "{} did not, as {} says, {} the {}.",
    "No {}, {} or {} {}.",
    "{} never {}, nor {}, the {}.",
    "Neither {} nor {} {}.",
    "{} {} the {} without a {}.",
    "Unless it {}, {} {} the {}.",
    "{} {} the {}, unless it {}.",
    "{} {} each {}, except the {}.",
    "Only {} {} the {}.",
    "{} {} the {} before the {} {}.",
    "You should {} it after the {} {}.",
    "{} refused to {} the {}.",
    "{} is too {} to {}.",
    "{} is {} than {}.",
)
"""Sentences of one clause that is turned: all of its words stay, or none does."""

MODAL = (
    *(
        "{} must've ~{} the {}.",
        "She'd ~{} the {} and the {}.",
        "{} may ~{} the {}.",
        "You must ~{} the {}.",
        "{} was {} by ~{}.",
    ),
    *("{} wants to ~{} a {}.", "{} used to ~{} the {}."),
)
COUNTED = ("{} {} ^ {}s near the {}.", "{} {} ^ old {}s.", "{} {} more than ^ {}s a {}.")

rates = st.sampled_from(RATES)
sentences = st.lists(st.sampled_from([PLAIN, *TURNED]), min_size=1, max_size=8)


def fresh() -> Iterator[str]:
    """Words that no list of words has, each another."""
    for number in count():
        yield "".join(
            "bdfgklmprv"[int(digit)] + "aeiou"[int(digit) % 5] for digit in str(number + 90)
        )


def shorten(text: str, rate: float) -> str:
    compressor = WordCompressor(word_information)
    [shortened] = compressor.compress([CompressibleText(text)], "", rate)
    assert compressor.compress([CompressibleText(text)], "", rate) == [shortened]
    return shortened


def named(text: str) -> list[str]:
    return [name for name in map(bare, text.split()) if name]


def is_among(words: list[str], all_words: list[str]) -> bool:
    """Whether words stand among others in their order."""
    left = iter(all_words)
    return all(word in left for word in words)


@given(rate=rates, shapes=sentences)
def test_a_clause_that_is_turned_stays_as_a_whole_or_goes(rate: float, shapes: list[str]) -> None:
    words = fresh()
    filled = [shape.format(*(next(words) for _ in range(shape.count("{}")))) for shape in shapes]
    shown = shorten(" ".join(filled), rate)
    assert is_among(named(shown), named(" ".join(filled)))
    for shape, sentence in zip(shapes, filled, strict=True):
        made_up = set(named(sentence)) - set(named(shape))
        if shape != PLAIN and made_up & set(named(shown)):
            assert sentence in shown


@given(rate=rates, shapes=st.lists(st.sampled_from([PLAIN, *MODAL]), min_size=1, max_size=8))
def test_a_verb_keeps_its_modal_a_name_its_by_and_to_what_stands_before_it(
    rate: float, shapes: list[str]
) -> None:
    words = fresh()
    filled = [shape.format(*(next(words) for _ in range(shape.count("{}")))) for shape in shapes]
    shown = named(shorten(" ".join(filled).replace("~", ""), rate))
    for sentence in filled:
        for head, belonging in re.findall(r"(\S+) ~(\w+)", sentence.lower()):
            if belonging in shown:
                before = shown[: shown.index(belonging)]
                assert before[-1] == head
                assert head != "to" or before[-2] in ("wants", "used")


@given(
    rate=rates,
    shapes=st.lists(st.sampled_from(COUNTED), min_size=1, max_size=6),
    numbers=st.lists(st.integers(2, 99_999), min_size=6, max_size=6),
)
def test_a_number_stays_with_what_it_counts(
    rate: float, shapes: list[str], numbers: list[int]
) -> None:
    words = fresh()
    filled = [
        shape.format(*(next(words) for _ in range(shape.count("{}")))).replace("^", f"{number:,}")
        for shape, number in zip(shapes, numbers, strict=False)
    ]
    shown = shorten(" ".join(filled), rate)
    for sentence in filled:
        [counted] = re.findall(r"(?:more than )?[\d,]+ +(?:old )?\w+s(?: a \w+)?", sentence)
        assert counted in shown


@given(rate=rates, shapes=sentences)
def test_the_rate_is_met_but_for_a_sentence(rate: float, shapes: list[str]) -> None:
    words = fresh()
    filled = [shape.format(*(next(words) for _ in range(shape.count("{}")))) for shape in shapes]
    whole = tokens_upto(" ".join(filled))[-1]
    longest = max(tokens_upto(f" {sentence}")[-1] for sentence in filled)
    shown = tokens_upto(shorten(" ".join(filled), rate))[-1]
    marks = 0.6 * len(filled)  # a sentence that lost its last word keeps its full stop
    assert rate * whole - longest <= shown <= rate * whole + marks


@pytest.mark.parametrize(
    ("sentence", "turned"),
    [
        ("It was 650 euros a month.", "650 euros a month"),
        ("They need 3 to 5 days of sun here.", "3 to 5 days"),
        ("A flat of 40 square metres is here.", "40 square metres"),
        ("They grew by no more than 12 percent of it.", "by no more than 12 percent"),
        ("They moved in spring 2024 and it was good.", "in spring 2024"),
        ("The key is for room 12 of it.", "for room 12"),
        ("They took 2 of the boats to it.", "2 of the boats"),
    ],
)
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_numbers_keep_their_nouns_ranges_and_bounds(
    sentence: str, turned: str, rate: float
) -> None:
    assert turned in shorten(sentence, rate)


@pytest.mark.parametrize(
    ("text", "denied", "denial"),
    [
        ("Sie hat den Hund nicht gefüttert. Er bellte laut im Garten.", "gefüttert", "nicht"),
        ("Elle n'a jamais vendu la maison. Le jardin est grand.", "vendu", "jamais"),
        ("No vendió la casa sin su hermana. El jardín es grande.", "vendió", "No"),
        ("Lei non ha venduto la casa. Il giardino è grande.", "venduto", "non"),
        ("Она не продала дом. Сад очень большой.", "продала", "не"),
        ("उसने घर नहीं बेचा। बाग बहुत बड़ा है।", "बेचा", "नहीं"),
        ("لم تبيع البيت. الحديقة كبيرة جدا.", "تبيع", "لم"),
        ("彼女は家を売らなかった。庭はとても広い。", "売", "売らなかった"),
    ],
)
@pytest.mark.parametrize("rate", RATES)
def test_what_is_denied_in_other_languages_keeps_its_denial(
    text: str, denied: str, denial: str, rate: float
) -> None:
    shown = shorten(text, rate)
    assert (denied in shown) == (denial in shown)
    assert is_among(named(shown), named(text)) or shown in text


def test_a_contrast_and_a_new_subject_end_what_a_denial_reaches() -> None:
    text = "She did not sail, but the weather of the morning was fine and the river was calm."
    shown = [shorten(text, rate) for rate in RATES]
    assert any("sail" not in shorter and "weather" in shorter for shorter in shown)
    text = "He never rows, and she repairs the engines of the ferries at the harbour in winter."
    shown = [shorten(text, rate) for rate in RATES]
    assert any("never" not in shorter and "engines" in shorter for shorter in shown)


@pytest.mark.parametrize("words", [["not", "this,"], ["3", "to"], ["by", "of"]])
def test_a_long_list_takes_a_time_like_its_length(words: list[str]) -> None:
    def seconds(times: int) -> float:
        began = time.process_time()
        bonds(words * times, lambda word: len(word) > 3)
        return time.process_time() - began

    shorter, longer = (min(seconds(times) for _ in range(3)) for times in (250, 4_000))
    assert longer < 64 * shorter  # 16 times as many words; a square would be 256
