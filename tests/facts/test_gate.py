"""What is looked at first, as it costs next to nothing, refuses nothing that the rules would read.

Who adds a rule and forgets the words by which it is told is told here.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.facts.test_requests import HANDED_OVER, STATED
from tests.facts.test_statements import entry
from treering.views.facts import (
    asides,
    fiction,
    framing,
    left_out,
    mentions,
    names,
    open_forms,
    readings,
    remaining,
    requests,
    statement,
    wording,
)
from treering.views.facts.clauses import _TOKEN, _parts, _tokens, clauses
from treering.views.facts.forms import FORMS
from treering.views.facts.framing import tidied, unframed
from treering.views.facts.gate import _UNDONE, may_state
from treering.views.facts.literals import literal, names_oneself, openings
from treering.views.facts.names import named
from treering.views.facts.paraphrases import PARAPHRASES, paraphrased
from treering.views.facts.phrases import STARTS
from treering.views.facts.requests import own_words
from treering.views.facts.statement import statements
from treering.views.facts.tokens import has_any, parted, words
from treering.views.facts.wording import plain

EXAMPLES = [form.example for form in FORMS] + [row.example for row in PARAPHRASES]
TOLD = [
    text
    for file in sorted(Path(__file__).with_name("forms").glob("*.jsonl"))
    for line in file.read_text(encoding="utf-8").splitlines()
    for text in json.loads(line).values()
    if isinstance(text, str)
]
TYPED = [
    "btw im at ocado now",
    "now its Fontaines and her names priya",
    "as of today the office is on elm street",
    "sold the corsa, in case you wonder",
    "vegan so please note",
    "had to give up the gym",
    "not at google any more I'm at stripe",
    "no more meat for me",
    "new job at ocado",
    "i joined ocado and work with dr wu",
    "Scratch that, it's Lindqvist with a q",
    "Please note that the shop has moved to Elm Street",
    "We got a kitten! Her name is Pickle",
    "My number has changed. It is now 01632 960 111",
    "From Monday the office is on Elm Street",
    "Let's play: I live in Rome. Seriously, I live in Bath",
    "lol I'm basically 900 years old",
    "who wrote the line I live in a yellow submarine?",
]
OPENERS = [phrase.capitalize() for phrase in (*framing._SAID_FIRST, *framing._MARKED_FIRST)]
WORDS = sorted(
    {word for text in (*EXAMPLES, *TYPED, *OPENERS, *TOLD) for word in text.split()}
    | {"", ",", "1", "name17", "It's", "it's", "the", "is", "as", "of", "-", "’s", "i’m", "ſ", "İ"}
)
mixed = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
read = st.sampled_from([*EXAMPLES, *TYPED, *TOLD, *HANDED_OVER, *(text for text, _ in STATED)])
joined = st.lists(read, min_size=1, max_size=2).map(" ".join)
opened = st.tuples(st.sampled_from(OPENERS), st.sampled_from([" ", ", ", ": "]), read).map("".join)
cut = st.tuples(read, st.integers(0, 9), st.integers(3, 12)).map(
    lambda text: " ".join(text[0].split()[text[1] : text[1] + text[2]])
)
written = st.one_of(
    mixed, joined, opened, cut, st.one_of(mixed, joined, opened, cut).map(str.lower)
)

BEFORE = clauses("I changed my surname, and my dentist was Dr Wu")
"""Clauses of the sentence before, with what "it" may stand for."""


@given(written)
def test_a_text_that_is_refused_at_once_states_nothing(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statement, "may_ever_state", lambda *_: True)
        patch.setattr(statement, "may_come_to_state", lambda *_, **__: True)
        stated = statements(entry(text))
    assert statements(entry(text)) == stated


def test_no_text_of_the_tests_is_refused_that_states_something() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statement, "may_ever_state", lambda *_: True)
        patch.setattr(statement, "may_come_to_state", lambda *_, **__: True)
        stated = [statements(entry(text)) for text in TOLD]
    assert [statements(entry(text)) for text in TOLD] == stated


@given(written)
def test_whatever_a_form_matches_passes_the_gate(text: str) -> None:
    sentence = plain(text)
    if any(statement._matches(sentence, FORMS)) and not _UNDONE.match(sentence):
        assert may_state(sentence)


@given(written)
def test_whatever_clauses_are_read_of_passes_the_gate(text: str) -> None:
    sentence = plain(text)
    is_of_oneself = statement._is_of_oneself(sentence, words(sentence), BEFORE)
    if is_of_oneself and not _UNDONE.match(sentence):
        assert may_state(sentence)


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_pass_the_gate(text: str) -> None:
    assert may_state(plain(text))


@pytest.mark.parametrize(
    "text", ["", "sounds great!", "was name17 was name3 was name1", "what a day"]
)
def test_a_sentence_about_nobody_does_not_pass(text: str) -> None:
    assert not may_state(text)
    assert statement._in_plain_words(text, is_casual=True, goes_on=True) is None


@given(written)
def test_a_form_is_found_where_a_search_for_it_finds_it(text: str) -> None:
    starts = [match.start() for match in STARTS.finditer(text)]
    for form in FORMS:
        by_starts, by_search = form.search(text, starts), form.pattern.search(text)
        assert (by_starts and by_starts.span()) == (by_search and by_search.span())


@given(written)
def test_a_turn_of_phrase_that_changes_a_sentence_is_not_passed_over(text: str) -> None:
    small = text.lower()
    for row in PARAPHRASES:
        if small.isascii() and not row.may_apply(small):
            assert row.applied(text) == text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("^it's (?:now )?(\\w+) for me\\b", " for me"),
        ("moves? to", "move"),
        ("a{2}bc+d", "bc"),
        ("x[^]ab]yz[a\\]]", "yz"),
        ("a(?:b(c)[)]d)ef", "ef"),
        ("ab|cd", ""),
        ("(?:ab)", ""),
    ],
)
def test_the_text_that_each_match_holds(expression: str, text: str) -> None:
    assert literal(expression) == text


def test_what_an_expression_begins_with_and_whom_it_names() -> None:
    assert openings("^(?P<who>(?:my|our) [a-z]+)") == ("my", "our")
    assert openings("^the (?P<what>.*)") == ("the ",)
    assert openings("^(?:the )?car") == ("",)
    assert names_oneself(r"^the car in (?:my|our) garage")
    assert not names_oneself(r"^the car in (?:my|our)? ?garage")


@given(written)
def test_a_request_and_a_game_are_found_though_their_words_are_looked_for_first(text: str) -> None:
    left = own_words(text, [*requests._ANY_WORDED])
    assert own_words(text) == left
    assert fiction.own_life(text) == fiction.own_life(text, [*fiction._ANY])


@given(written)
def test_tokens_are_those_that_the_expression_finds(text: str) -> None:
    expected = [part for token in _TOKEN.findall(text) for part in _parts(token)]
    assert _tokens(text) == expected


@given(written)
def test_what_tells_that_something_lasts_is_found_by_its_words(text: str) -> None:
    assert remaining._is_told(text) == (remaining._TOLD.search(text) is not None)
    assert remaining._is_done(text, words(text)) == (remaining._DONE.search(text) is not None)


@given(written)
def test_sentences_are_those_that_the_expression_finds(text: str) -> None:
    matches = ((match[0], match.end()) for match in statement._SENTENCE.finditer(text))
    expected = [(stop - len(said.lstrip()), said.strip()) for said, stop in matches if said.strip()]
    assert [(start, said) for start, said in statement._sentences(text) if said] == expected


@given(written)
def test_a_sentence_is_parted_wherever_an_expression_parts_it(text: str) -> None:
    for module, pattern in (
        (statement, statement._CLAUSES),
        (remaining, remaining._CLAUSES),
        (open_forms, open_forms._SPLIT),
    ):
        assert parted(text, pattern, module._PARTING) == pattern.split(text)


@given(written)
def test_a_match_has_the_sign_that_is_looked_for_first(text: str) -> None:
    if any(pattern.search(text) for pattern in mentions._REACHED):
        assert has_any(text, mentions._OF_REACHING)
    if readings._NAMED.search(text.replace(" '", "'")):
        assert has_any(text, readings._NAMING)
    if remaining._SPOKEN_OF.search(text):
        assert "my " in text or remaining._CAPITAL.search(text)


@given(written)
def test_what_is_uncertain_or_told_aside_is_found_by_its_words(text: str) -> None:
    assert asides.is_aside(text) == (asides._ASIDE.search(text) is not None)
    clause = " ".join(_tokens(text))  # as clauses are written
    assert readings._is_uncertain(clause) == (readings._UNCERTAIN.search(clause) is not None)


@given(written)
def test_names_are_found_though_the_words_around_them_are_looked_for_first(text: str) -> None:
    small = text.lower()
    whole = names._TITLED.sub(lambda m: m[1].capitalize() + m[2] + m[3].upper() + m[4], small)
    for _, pattern in names._BY_WORDS:
        whole = pattern.sub(names._capitalised, whole)
    assert named(small) == names._led_to(whole)


@given(st.text(max_size=40))
def test_words_are_all_that_an_expression_without_case_finds(text: str) -> None:
    if text.isascii():
        assert set(words(text)) == {word.lower() for word in left_out._WORD.findall(text)}
    assert all(len(word) == len(word.encode()) for word in words(text))


@given(written)
def test_plain_wording_is_that_of_all_expressions_one_after_the_other(text: str) -> None:
    assert unframed(text) == _unframed_by_all(text)
    assert plain(text) == _plain_by_all(text)


def _unframed_by_all(text: str) -> str:
    """``unframed`` without looking first whether an expression can match at all."""
    corrected = framing._CORRECTED.match(text) or framing._SPELT_SO.match(text)
    if corrected and has_any(text, framing._CORRECTING):
        text = f"For me it's now {text[corrected.end() :]}"
    text = framing.without_openers(framing._NOTICE.sub("our ", text), framing._TOLD)
    if " new " in text:
        text = framing._PARENTHESIS.sub(r"\g<thing> ", text)
    return framing._since_then(framing._LOOKS_BACK.sub("", framing._TAIL.sub("", text)))


def _plain_by_all(sentence: str) -> str:
    """``plain`` without looking first whether an expression can match at all."""
    casual = wording.is_casual(sentence)
    text = tidied(sentence)
    contracted = wording._TYPED if casual else wording._ALWAYS
    text = contracted.sub(lambda match: wording._spelt_out(match[0]), text)
    text = wording._UNMARKED.sub("'", text) if casual else text
    text = wording._ME.sub("my ", wording._IS_MINE.sub(r"\g<who> is ", text))
    text = wording._NAMED_BESIDE.sub(r"\g<who> \g<name> ", paraphrased(_unframed_by_all(text)))
    text = wording._HAD_TO.sub(
        lambda match: wording._DID.get(match["verb"].lower(), match["verb"]), text
    )
    if text.partition(" ")[0] not in left_out._SUBJECTS:
        text = _with_subject_by_all(text)
    text = wording._RUN_ON.sub(r"\g<end>, ", text)
    return named(text) if casual else text


def _with_subject_by_all(text: str) -> str:
    small = text[:1].lower() + text[1:] if text[1:2].islower() else text
    if left_out._LEAVES_OUT.match(text):
        for pattern, template in left_out._LEFT_OUT:
            small = pattern.sub(template, small)
        return small
    is_note = " now" in text or " days" in text or " to " in text
    return f"My {small}" if is_note and left_out._NOTE_OF_NOW.match(text) else text
