"""A compressed text says what the whole one said: sentences and clauses stay whole, or go."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.llm.tokens import tokens_upto
from treering.search.compression.contract import CompressibleText
from treering.search.compression.words import WordCompressor, word_information

RATES = tuple(tenths / 10 for tenths in range(1, 10))
rates = st.sampled_from(RATES)

REMARK = "A heron stood at the bank of the pond for hours."
UNPARTED = (
    "The new allergy test was negative for peanuts and positive for hazelnuts.",
    "Coffee, on the other hand, costs 3 euros.",
    "The manager turned down our offer of 20,000 euros on Monday.",
    "The lawyer with the grey coat called off the meeting with the team.",
    "Paul gave Eva 500 euros and Eva gave Paul the old bicycle.",
    "The trainer in the old sports hall is anything but happy.",
    "The left kidney is healthy, the right kidney has a stone of 6 millimetres.",
    "The dose for adults is 500 mg and for children 100 mg.",
    "The old password of the router was tiger77, the new one is lemon42.",
    "The heat pump cost 18,300 euros, of which 6,405 were refunded.",
    "The old copper pipe is not leaking any more, but the valve must be replaced.",
    "Nobody but Peter has the code 8812; the neighbour has the one for the garage.",
    "You may go out, but the doctor says that you have to rest.",
    "If it rains, and the bridge is closed, we stay.",
    "The house was sold, and the garden was green, he said.",
    "She invited Ann, Ben, who rows, and the whole club.",
    "She likes tea, and the cake that was bought.",
    'He wrote "the bridge is very old", and the mayor has read it.',
    "The pipe really doesn't leak.",
    "The car can be driven, and the speed must stay below 80.",
    "Touch the red wire, and the whole lamp is broken.",
    "Touch the red wire, and the guard will shoot.",
    "They asked Dr. Okafor at 5 p.m. about the pills.",
    "We met on the 3. May of a warm year.",
)
"""Sentences of which every word stays, or none does."""

PARTED = (
    ("Tea is free on Sundays", ", and the cake with the cream costs 5 euros", "."),
    ("The route takes 5 hours", "; the path along the ridge is closed", "."),
    ("The train was late", ", so the journey over the bridge was long", "."),
    ("Paula", ", who rows in a club,", " has 2 boats."),
    ("The river is", " really", " cold in June."),
    ("", "Oh, ", "the ferry to Bremen was late."),
    ("We sold", ", you know,", " the old boat in spring."),
    ("The mast is", " so", " so tall in the harbour."),
)
"""Sentences with what of them can be missed."""

sentences = st.lists(
    st.sampled_from([REMARK, *UNPARTED, *("".join(parts) for parts in PARTED)]),
    min_size=1,
    max_size=6,
    unique=True,
)


def shorten(text: str, rate: float, query: str = "") -> str:
    compressor = WordCompressor(word_information)
    [shortened] = compressor.compress([CompressibleText(text)], query, rate)
    assert compressor.compress([CompressibleText(text)], query, rate) == [shortened]
    return shortened


def shapes(sentence: str) -> list[str]:
    """How a sentence may be shown."""
    for head, missed, tail in PARTED:
        if sentence == head + missed + tail:
            return [sentence, (head + tail).strip()]
    return [sentence]


@pytest.mark.parametrize("sentence", UNPARTED)
@pytest.mark.parametrize("rate", RATES)
def test_a_sentence_that_could_say_otherwise_stays_whole_or_goes(
    sentence: str, rate: float
) -> None:
    alone = shorten(f"{sentence} {REMARK}", rate)
    assert alone in {"", sentence, REMARK, f"{sentence} {REMARK}"}
    assert shorten(f"{REMARK} {sentence}", rate, sentence) in {"", sentence, REMARK}


@pytest.mark.parametrize("parts", PARTED)
def test_what_can_be_missed_goes_and_leaves_a_sentence(parts: tuple[str, str, str]) -> None:
    whole = "".join(parts)
    [_, shorter] = shapes(whole)
    shown = {shorten(whole, hundredths / 100, shorter) for hundredths in range(1, 100)}
    assert shown <= {"", shorter, whole}
    assert shorter in shown


@given(rate=rates, texts=sentences)
def test_a_text_is_shown_in_whole_sentences_and_clauses_in_their_order(
    rate: float, texts: list[str]
) -> None:
    left = shown = shorten(" ".join(texts), rate)
    for sentence in texts:
        shape = next((shape for shape in shapes(sentence) if left.startswith(shape)), "")
        left = left.removeprefix(shape).lstrip()
    assert not left, shown


@given(rate=rates, texts=sentences)
def test_the_rate_is_never_exceeded(rate: float, texts: list[str]) -> None:
    whole = tokens_upto(" ".join(texts))[-1]
    shown = tokens_upto(shorten(" ".join(texts), rate))[-1]
    marks = 0.6 * len(texts)  # a sentence that lost its last word keeps its full stop
    assert shown <= rate * whole + marks


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    ("said", "taken_back"),
    [
        ("The lamp is in the cellar.", "But that was last year."),
        ("Ana wanted to buy the boat.", "However, the bank said otherwise."),
        ("Is the well deep enough for us all?", "No."),
        ("Not allowed in the garden:", "dogs of any size, fires and loud music."),
        ("Not allowed in the garden are\n- dogs.", "\n- fires in the summer."),
        ("# Myths about the well", "\nIt is a thousand metres deep."),
        ("Guests may keep dogs in the rooms.", "They may not do so after all, said the owner."),
        ("The train to Graz leaves at 8:30.", "Wrong, it leaves at 9:15."),
        ("The rent was 900 euros at first.", "That was wrong. It is 1,050 euros."),
        ("Ana would need the operation in May.", "It was negative."),
        ("Mr Hahn was never bitten by a dog.", "He only says so."),
        ("The buyer paid the deposit of 5,000 euros.", "At least he claims it."),
        ("I doubt that the cellar is dry. It was said to be dry.", "It isn't."),
        ("The old pills could be returned.", "They cannot be returned without the receipt."),
    ],
)
def test_what_takes_up_a_sentence_stays_or_goes_with_it(
    said: str, taken_back: str, rate: float
) -> None:
    shown = shorten(f"{said} {taken_back}\n\n{REMARK} {REMARK}", rate)
    assert (said in shown) == (taken_back.strip() in shown)


@pytest.mark.parametrize("rate", RATES)
def test_a_pronoun_does_not_stay_without_whom_it_names(rate: float) -> None:
    text = f"Ben sails. {REMARK} Ana met Eva in Graz. She moved to Oslo, where it snows."
    shown = shorten(text, rate, "Who moved to Oslo, where it snows?")
    assert "She" not in shown or "Ana met Eva in Graz. She moved" in shown


@pytest.mark.parametrize(
    "text",
    [
        "The train is late, and the bus is late; ",
        "She rows in a club. ",
        "- rows\n",
        "is really big really ",
        "Rivers flood. ",
    ],
)
def test_a_long_text_takes_a_time_like_its_length(text: str) -> None:
    def seconds(times: int) -> float:
        began = time.process_time()
        shorten(text * times, 0.5)
        return time.process_time() - began

    # 16 times as many words, of which a square would make 256; a slow moment is forgiven twice.
    assert any(seconds(2_000) < 64 * seconds(125) for _ in range(3))


def test_a_line_that_goes_on_in_the_next_is_not_parted() -> None:
    text = f"He did not\nfeed the dog.\n{REMARK}"
    shown = {shorten(text, rate) for rate in RATES}
    assert shown <= {"", "He did not\nfeed the dog.", REMARK}
    assert len(shown) > 1


@pytest.mark.parametrize(
    "text",
    [
        "Sie hat den Hund nicht gefüttert, und die Katze war krank. Er bellte laut im Garten.",
        "Elle n'a jamais vendu la maison, et le toit est neuf. Le jardin est grand.",
        "No vendió la casa sin su hermana. El jardín es grande.",
        "Lei non ha venduto la casa. Il giardino è grande.",
        "Она не продала дом. Сад очень большой.",
        "उसने घर नहीं बेचा। बाग बहुत बड़ा है।",
        "لم تبيع البيت. الحديقة كبيرة جدا.",
        "彼女は家を、三月に売らなかった。庭はとても広い。",
    ],
)
@pytest.mark.parametrize("rate", RATES)
def test_sentences_of_other_languages_stay_whole_or_go(text: str, rate: float) -> None:
    shown = shorten(text, rate)
    whole = re.findall(r"[^.।。]+[.।。]", text)
    assert shown in {"", text, *(sentence.strip() for sentence in whole)}
