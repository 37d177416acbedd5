"""Compressed contexts: fewer tokens, and what a reader needs to trust them stays."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.raised import raises
from treering import Memory
from treering.errors import InputError, LLMNotConfigured, UnknownName
from treering.llm.contract import TokenSurprisal
from treering.llm.scripted import ScriptedLLM
from treering.llm.tokens import estimate_tokens, tokens_upto
from treering.search.compression.contract import CompressibleText, Compressor
from treering.search.compression.sentences import SentenceCompressor, surprisal

SAID = (
    "My sister moved to Porto in spring 2024, because she did not like the rain in Leeds at all.",
    "I really think that it is a very nice place to be, you know, and so on and so forth.",
    "She pays 650 euros a month for a flat of 40 square metres, which is near the river.",
    "Every morning she rows on the Douro with a club of twelve people from all over the world.",
)
SENTENCES = SentenceCompressor()


def filled(memory: Memory) -> Memory:
    memory.add([{"role": "user", "name": "Ana", "content": text} for text in SAID])
    return memory


def shorten(text: str, rate: float, query: str = "", compressor: Compressor = SENTENCES) -> str:
    [shortened] = compressor.compress([CompressibleText(text)], query, rate)
    return shortened


@pytest.mark.parametrize("rate", [0.3, 0.5, 0.7, 0.9])
def test_what_fits_whole_is_not_cut_at_any_rate(open_memory: Open, rate: float) -> None:
    memory = filled(open_memory())
    whole = memory.context("Where does the sister live?", budget=4000)
    assert memory.context("Where does the sister live?", budget=4000, compress=rate) == whole


def test_a_context_is_cut_as_far_as_its_budget_needs(open_memory: Open) -> None:
    memory = filled(open_memory())
    whole = memory.context("Where does the sister live?", budget=4000)
    for budget in (100, 80, 65):
        shown = memory.context("Where does the sister live?", budget=budget, compress=0.5)
        assert shown.tokens == estimate_tokens(shown.text)
        assert 0.6 * budget <= shown.tokens <= budget < whole.tokens
        assert shown.budget == budget


def test_whole_sentences_fill_a_small_budget(
    open_memory: Open,
) -> None:
    memory = open_memory()
    numbered = [f"On day {day} they paid {day}0 euros for {day} boats." for day in range(10, 40)]
    memory.add([{"role": "user", "name": "Ana", "content": text} for text in numbered])
    shown = memory.context("How many euros for boats?", budget=60, compress=0.3)
    assert 30 <= shown.tokens <= 60
    assert shown.passages


def test_a_context_of_what_cannot_be_cut_is_not_empty(open_memory: Open) -> None:
    memory = open_memory()
    memory.add("She never rows without a coat on, nor before the sun is up, unless it is too hot.")
    memory.add("They do not sail.")
    shown = memory.context("Does she row?", budget=20, compress=0.5)
    assert shown.passages
    assert shown.tokens <= 20


def test_more_passages_fit_a_budget(open_memory: Open) -> None:
    memory = filled(open_memory())
    plain = memory.context("sister", budget=45)
    shorter = memory.context("sister", budget=45, compress=0.4)
    assert shorter.tokens <= 45
    hits = [sum(len(passage.hits) for passage in it.passages) for it in (plain, shorter)]
    assert hits[0] < hits[1]


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_citations_and_speakers_stay_and_numbers_with_their_sentences(
    open_memory: Open, rate: float
) -> None:
    memory = filled(open_memory())
    shown = memory.context("rent", budget=80, compress=rate)
    [passage] = shown.passages
    assert shown.text == f"[1] chat\n{passage.text}"
    assert {hit.text for hit in passage.hits} <= set(SAID)  # what is cited is still whole
    assert set(passage.text.split("\n")) <= {f"Ana: {text}" for text in SAID}


def test_what_ranks_first_goes_last(open_memory: Open) -> None:
    memory = open_memory()
    asked = "The plumber said that the old copper pipe in the cellar is not leaking any more."
    memory.add(asked)
    for place in ("Bremen", "Porto", "Graz", "Oslo", "Leeds", "Turin"):
        memory.add(f"The mayor of {place} sold rare violins, carved oboes and antique harps.")
    for rate in (0.2, 0.5, 0.8):
        shown = memory.context("What did the plumber say?", budget=60, compress=rate)
        assert asked in shown.text


def test_of_two_texts_that_say_as_much_the_lower_one_goes() -> None:
    first, second = "Boats leak all winter.", "Roofs leak all summer."
    for ranks in ((0, 1), (1, 0)):
        spans = ((0, len(first)), (len(first) + 1, len(first) + 1 + len(second)))
        hits = tuple(zip(spans, ranks, strict=True))
        passage = CompressibleText(f"{first}\n{second}", hits=hits)
        assert SENTENCES.compress([passage], "", 0.6) == [(first, second)[ranks.index(0)]]


def test_what_is_known_against_a_text_stays_word_for_word(open_memory: Open) -> None:
    memory = open_memory()
    memory.add([{"role": "user", "name": "Ana", "content": "I live in Leeds and like it a lot."}])
    memory.add([{"role": "user", "name": "Ana", "content": "I relocated to Porto."}])
    against = '("I live in Leeds" is superseded: I relocated to Porto.)'
    assert against in memory.context("Where does Ana live?").text
    assert against in memory.context("Where does Ana live?", compress=0.2).text


def test_code_is_not_shortened(open_memory: Open) -> None:
    memory = open_memory()
    memory.add("def porto(river):\n    return river and the_boat\n", source="a.py", kind="code")
    whole = memory.context("porto river")
    assert memory.context("porto river", compress=0.3).text == whole.text


def test_the_sentences_that_answer_go_last() -> None:
    text = " ".join(SAID)
    about_rent = shorten(text, 0.6, "Who pays for the flat near the river?")
    about_rowing = shorten(text, 0.6, "Who rows with a club every morning?")
    assert SAID[2] in about_rent
    assert SAID[3] in about_rowing


def test_sentences_of_scripts_without_spaces_go_as_a_whole() -> None:
    text = "妹は二〇二四年の春に、ポルトへ引っ越した。雨が嫌いだったから。"
    assert {shorten(text, rate) for rate in (0.4, 0.7)} <= {"", text[:21], text[21:]}


@given(
    texts=st.lists(st.text("ab 7.\n,", max_size=60), max_size=4),
    rate=st.floats(0.01, 1),
    query=st.text("ab ", max_size=10),
)
def test_no_word_is_made_up(texts: list[str], rate: float, query: str) -> None:
    passages = [CompressibleText(text) for text in texts]
    shortened = SENTENCES.compress(passages, query, rate)
    assert len(shortened) == len(texts)
    for text, shown in zip(texts, shortened, strict=True):
        there = {word.strip(",.") for word in text.split()}
        assert {word.strip(",.") for word in shown.split()} <= there


def test_at_a_rate_of_1_nothing_goes() -> None:
    text = "It is so.\nAnd that, too, was it."
    assert shorten(text, 1.0) == text


@pytest.mark.parametrize("rate", [0, -0.5, 1.1, float("nan"), float("inf"), True, "0.5"])
def test_a_rate_that_is_no_share_is_refused(open_memory: Open, rate: float) -> None:
    with raises(InputError, param="compress"):
        filled(open_memory()).context("sister", compress=rate)


def test_an_unknown_compressor_is_named(open_memory: Open) -> None:
    with raises(UnknownName, param="compressor"):
        filled(open_memory()).context("sister", compress=0.5, compressor="zip")  # type: ignore[arg-type]


class Shouter:
    """A compressor of one's own."""

    def compress(self, passages: Sequence[CompressibleText], query: str, rate: float) -> list[str]:
        return [f"{passage.text[:12]}!" for passage in passages]


def test_a_compressor_of_ones_own_is_used_and_its_passages_are_cited(open_memory: Open) -> None:
    memory = filled(open_memory())
    shown = memory.context("sister", budget=60, compress=0.5, compressor=Shouter())
    assert shown.text == "[1] chat\nAna: My sist!"
    assert shown.passages[0].tokens == estimate_tokens("Ana: My sist!")


class Joiner:
    """A compressor that makes one text of all."""

    def compress(self, passages: Sequence[CompressibleText], query: str, rate: float) -> list[str]:
        return ["all", "in", "one"]


def test_a_compressor_that_returns_other_passages_is_named(open_memory: Open) -> None:
    with pytest.raises(InputError, match="Joiner made 3 texts of 1 passages"):
        filled(open_memory()).context("sister", budget=60, compress=0.5, compressor=Joiner())


class Reader(ScriptedLLM):
    """A model to which "sister" and "Porto" are surprising, and everything else is plain."""

    def __init__(self) -> None:
        super().__init__([])
        self.read: list[str] = []

    def surprisals(self, text: str) -> list[TokenSurprisal]:
        assert text not in self.read, "a text is read once"
        self.read.append(text)
        return [
            TokenSurprisal(match.start(), match.end(), 9 if match[0].strip() in SURPRISING else 1)
            for match in re.finditer(r"\s*\w+|\s*\W", text)
        ]


SURPRISING = {"sister", "Porto"}


def test_a_model_tells_which_sentences_are_hard_to_guess(open_memory: Open) -> None:
    memory = open_memory(llm=Reader())
    memory.add("My aunt likes the Leeds area. My sister likes the Porto area.")
    shown = memory.context("?", budget=14, compress=0.5, compressor="model")
    assert shown.passages[0].text == "My sister likes the Porto area."


def test_a_text_is_read_once_however_often_it_is_shortened(open_memory: Open) -> None:
    memory = filled(open_memory(llm=Reader()))
    shown = memory.context("sister", budget=30, compress=0.9, compressor="model")
    assert shown.tokens <= 30


def test_the_information_of_a_sentence_is_the_mean_of_its_tokens() -> None:
    assert surprisal(Reader())("My sister. Yes.", [(0, 11), (11, 15)]) == [11 / 3, 1]


@given(
    texts=st.lists(st.sampled_from(["Rivers flood.", "No.", "- rows\n", "She rows in a club."])),
    rate=st.floats(0.01, 1),
)
def test_the_rate_is_never_exceeded(texts: list[str], rate: float) -> None:
    text = " ".join(texts)
    assert tokens_upto(shorten(text, rate))[-1] <= rate * tokens_upto(text)[-1] + 1e-3


def test_a_short_sentence_stays_or_goes_with_the_one_before_it() -> None:
    text = "Ana would need the operation in May. It was negative. Rivers flood all over the land."
    for rate in (0.3, 0.5, 0.7, 0.9):
        shown = shorten(text, rate)
        assert ("operation" in shown) == ("negative" in shown)


def test_a_model_that_tells_no_probabilities_is_refused_with_what_to_do(open_memory: Open) -> None:
    memory = filled(open_memory(llm=ScriptedLLM([], model="gpt")))
    with pytest.raises(LLMNotConfigured):
        memory.context("sister", compress=0.5, compressor="model")


def test_an_empty_memory_has_an_empty_context(open_memory: Open) -> None:
    assert open_memory().context("sister", compress=0.5).passages == ()
