"""The reader that needs no model: each form with its example, and texts that state nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from treering.records import Entry, Kind
from treering.views.facts.change import Statement, states_facts
from treering.views.facts.forms import FORMS, read_forms

SIGNS = ["…", "(", ")", ",", "\n", '"', "!", "?", ": ", "Dr. ", "my ", "no longer "]


def entry(
    text: str, speaker: str | None = "Ana", role: str | None = None, kind: Kind = "chat"
) -> Entry:
    now = datetime(2026, 5, 3, tzinfo=UTC)
    return Entry("e", text, "chat", 0, kind, now, speaker=speaker, role=role)


def read(text: str) -> list[tuple[str, str, str]]:
    return [(one.subject, one.attribute, one.value) for one in read_forms(entry(text))]


def test_a_form_reads_its_example() -> None:
    for form in FORMS:
        [one] = read_forms(entry(form.example))
        assert (one.value, one.sense, one.reader) == (form.value, form.sense, "forms")
        assert form.attribute in ("", one.attribute)


def test_a_form_does_not_read_its_counter_example() -> None:
    for form in FORMS:
        assert read_forms(entry(form.counter)) == []


def test_a_text_that_states_nothing_is_not_read() -> None:
    cases = [
        "I finished the report and sent it to Bob.",
        "Should I move to Porto?",
        "If I lived in Paris, I would paint.",
        'My boss says "I live in Rome."',
        "A customer wrote: my address is 4 Elm Road.",
        "Translate: I live in Porto.",
        "Let's pretend. My name is Captain Reyes.",
        "I live in Oslo for the summer.",
        "I moved from Java to Kotlin.",
    ]
    for text in cases:
        assert read(text) == []


def test_a_sentence_is_read_clause_by_clause() -> None:
    cases = [
        ("Quick update: we relocated to Oslo, finally!", [("ana", "home", "Oslo")]),
        ("I'm 31. My phone is 55-12.", [("ana", "age", "31"), ("ana", "phone", "55-12")]),
        ("My doctor is Dr. Smith. She is nice.", [("ana", "doctor", "Dr. Smith")]),
        ("My sister Maria lives in Oslo.", [("ana's sister", "home", "Oslo")]),
        ("My wife's name is Denise.", [("ana's wife", "name", "Denise")]),
        ("I live in Rio and I work as a spy.", [("ana", "home", "Rio"), ("ana", "job", "spy")]),
    ]
    for text, facts in cases:
        assert read(text) == facts


def test_only_the_words_of_people_are_read() -> None:
    assert not states_facts(entry("I live in Porto.", role="assistant"))
    assert not states_facts(entry("I live in Porto.", kind="code"))
    story = "I live in Porto. " + "It was a dark night. " * 50
    assert not states_facts(entry(story, speaker=None, kind="text"))
    assert states_facts(entry("I live in Porto.", speaker=None, kind="text"))


@given(
    st.sampled_from([form.example for form in FORMS]),
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from(SIGNS)), max_size=3),
)
def test_any_text_is_read_without_an_error(text: str, entered: list[tuple[int, str]]) -> None:
    words = text.split()
    for place, sign in entered:
        words.insert(place, sign)
    for stop in range(1, len(words) + 1):
        cut = " ".join(words[:stop])
        statements: list[Statement] = read_forms(entry(cut))
        assert all(one.value in cut[one.start : one.stop] for one in statements)


def test_a_long_sentence_is_read_in_no_time() -> None:
    texts = "I " + "now " * 70, "my " * 90, "I moved from " + "a " * 140, "My " + "a-b " * 70
    for text in (*texts, "I sold " + "x and " * 48 + "bought", "My a is " + "B of " * 55):
        start = process_time()
        read_forms(entry(text[:290]))
        assert process_time() - start < 0.5
