"""Reading statements and telling which supersede which: a hand-written set, both ways."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations
from time import process_time

import pytest

from treering.records import Entry, Kind
from treering.views.facts.change import DatedStatement, superseded
from treering.views.facts.form import Form
from treering.views.facts.forms import FORMS
from treering.views.facts.statement import statements
from treering_bench.change_pairs import CHANGED, MISSED, UNCHANGED


def entry(
    text: str, speaker: str | None = "Ana", role: str | None = None, kind: Kind = "chat"
) -> Entry:
    now = datetime(2026, 5, 3, tzinfo=UTC)
    return Entry("e", text, "chat", 0, kind, now, speaker=speaker, role=role)


def found(*texts: str) -> list[tuple[int, int]]:
    """Pairs of older and newer text by number; each text is said a day after the one before."""
    groups: dict[tuple[str, str], list[DatedStatement]] = {}
    for number, text in enumerate(texts):
        for one in statements(entry(text)):
            groups.setdefault((one.subject, one.slot), []).append(
                DatedStatement(one, number, number)
            )
    pairs = (pair for group in groups.values() for pair in superseded(group))
    return sorted((older.entry, newer.entry) for older, newer in pairs)


@pytest.mark.parametrize(("older", "newer"), CHANGED)
def test_a_statement_supersedes_what_it_contradicts(older: str, newer: str) -> None:
    assert found(older, newer) == [(0, 1)]


@pytest.mark.parametrize(("older", "newer"), UNCHANGED)
def test_what_can_both_hold_supersedes_nothing(older: str, newer: str) -> None:
    assert found(older, newer) == []


@pytest.mark.parametrize(("older", "newer"), MISSED)
def test_what_is_known_to_be_missed_is_not_claimed(older: str, newer: str) -> None:
    assert found(older, newer) == []


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.example)
def test_a_form_reads_its_example(form: Form) -> None:
    read = statements(entry(form.example))
    values = [one.value for one in read if one.sense in (form.sense, "begins")]
    assert any(value.endswith(form.value) for value in values), read


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.example)
def test_a_form_is_the_first_that_matches_its_example(form: Form) -> None:
    assert form.pattern.search(form.example) is not None
    before = FORMS[: FORMS.index(form)]
    assert [other.example for other in before if other.pattern.search(form.example)] == []


@pytest.mark.parametrize(
    "text",
    [
        "I no longer care.",
        "I moved to Python.",
        "It is not true that I moved from Porto to Lisbon.",
        "I would have moved from Porto to Lisbon.",
        "Did I tell you that I left Siemens and joined Bosch?",
    ],
)
def test_what_states_nothing_is_not_read(text: str) -> None:
    assert statements(entry(text)) == []


def test_a_name_ends_before_the_nickname() -> None:
    [one] = statements(entry("My name is Ana but call me Nina."))
    assert (one.slot, one.value) == ("name", "Ana")


def test_each_clause_is_read_by_itself() -> None:
    text = "I used to work at Siemens, but now I work at Bosch, and my locker code is 4471."
    read = {one.slot: one.value for one in statements(entry(text))}
    assert read == {"employer": "Bosch", "locker code": "4471"}


def test_a_long_sentence_is_read_in_no_time() -> None:
    for text in ("I " + "now " * 70, "my " * 90, "I moved from " + "a " * 140, "My " + "a-b " * 70):
        start = process_time()
        statements(entry(text[:290]))
        assert process_time() - start < 1


def test_a_statement_that_holds_again_is_not_superseded() -> None:
    texts = "I live in Berlin.", "I moved to Porto.", "I moved back to Berlin."
    assert found(*texts) == [(1, 2)]


def test_the_newest_contradiction_is_the_one_that_counts() -> None:
    assert found("I live in Berlin.", "I moved to Porto.", "I moved to Rome.") == [(0, 2), (1, 2)]


def test_what_supersedes_what_does_not_depend_on_the_order_of_adding() -> None:
    texts = "I live in Berlin.", "I moved to Porto.", "I moved to Rome.", "I live in Rome."
    known = [
        DatedStatement(one, n, n) for n, text in enumerate(texts) for one in statements(entry(text))
    ]
    results = {tuple(superseded(order)) for order in permutations(known)}
    assert len(results) == 1


def test_i_of_ana_and_ana_of_others_are_one_subject() -> None:
    [own] = statements(entry("I live in Porto."))
    [told] = statements(entry("Ana lives in Porto.", speaker="Ben"))
    [sister] = statements(entry("My sister lives in Porto."))
    assert own.subject == told.subject == "ana"
    assert sister.subject == "ana's sister"


def test_nothing_is_read_in_what_bots_say_in_code_or_in_stories() -> None:
    assert statements(entry("I live in Porto.", role="assistant")) == []
    assert statements(entry("I live in Porto.", kind="code")) == []
    story = "I live in Porto. " + "It was a dark night. " * 50
    assert statements(entry(story, speaker=None, kind="text")) == []
    assert len(statements(entry("I live in Porto.", speaker=None, kind="text"))) == 1


def test_offsets_point_at_the_sentence() -> None:
    text = "Hello there!  I moved to Porto. It rains."
    [one] = statements(entry(text))
    assert text[one.start : one.stop] == "I moved to Porto."
    assert (one.value, one.sense) == ("Porto", "begins")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("My doctor is Dr. Smith. She is nice.", "Dr. Smith"),
        ("I live in St. Louis now.", "St. Louis"),
        ("My name is Ana and I like tea.", "Ana"),
        ("My favourite book is War and Peace.", "War and Peace"),
        ("My boss is Tom now.", "Tom"),
        ("My birthday is on 3 May.", "3 May"),
        ("The meeting is on Monday at 5 pm.", "Monday at 5 pm"),
        ("The meeting is on Monday morning.", "Monday morning"),
        ("My boss is Tom but he is ill.", "Tom"),
        ("My boss is Tom and I'm glad.", "Tom"),
        ("My boss is Dr. Tom Smith and I like tea.", "Dr. Tom Smith"),
        ("My boss is Tom and my doctor is ill.", "Tom"),
        ("My favourite movie is Beauty and the Beast.", "Beauty and the Beast"),
        ("My favourite band is Florence and the Machine.", "Florence and the Machine"),
        ("My favourite movie is The King and I.", "The King and I"),
        ("My favourite song is You and I", "You and I"),
        ("I moved to Oak St. The river is near.", "Oak St"),
        ("I live in Oak Dr. I am glad.", "Oak Dr"),
    ],
)
def test_a_value_is_what_is_stated_and_no_more(text: str, value: str) -> None:
    assert next(one.value for one in statements(entry(text))) == value


def test_a_nation_is_no_name() -> None:
    assert [one for one in statements(entry("I'm German.")) if one.slot == "called"] == []


def test_a_short_word_that_ends_a_sentence_does_not_swallow_the_next() -> None:
    stated = statements(entry("I moved to Oak St. I work at Google now."))
    assert [(one.slot, one.value) for one in stated] == [("home", "Oak St"), ("employer", "Google")]


def test_a_place_ends_before_what_only_looks_like_its_name() -> None:
    [one] = statements(entry("I moved to Porto last week."))
    assert one.value == "Porto"
    [one] = statements(entry("I moved to Rio de Janeiro in May."))
    assert one.value == "Rio de Janeiro"


@pytest.mark.parametrize(
    "text",
    [
        "All that we've overcome,",
        "For we've earned our happiness, all that we have.",
        "The Company's shares are traded on the Stock Exchange of Chile",
        "my old Raleigh was replaced",
        "ended up",
        "I ended up.",
    ],
)
def test_a_sentence_that_breaks_off_fails_nothing(text: str) -> None:
    assert [each for each in statements(entry(text)) if not each.value] == []
