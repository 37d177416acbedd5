"""Reading statements and telling which supersede which: a hand-written set, both ways."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations

import pytest

from treering.facts.change import Known, superseded
from treering.facts.statement import statements
from treering.records import Entry, Kind

CHANGED = (
    ("I live in Berlin.", "I moved to Porto last week."),
    ("I live in Berlin.", "I live in Madrid now."),
    ("We live in Oslo.", "We relocated to Bergen in May."),
    ("My sister lives in Porto.", "My sister moved to Lisbon."),
    ("I'm vegetarian.", "I'm no longer vegetarian."),
    ("I am a vegetarian, so no steak.", "I started eating meat again."),
    ("I work at Google.", "I just started a new job at Netflix."),
    ("I work for Siemens as an engineer.", "I left Siemens."),
    ("I work at Acme.", "I quit my job at Acme."),
    ("I work at Google.", "I no longer work at Google."),
    ("I work as a nurse.", "I now work as a teacher."),
    ("My phone number is 555-1234.", "My new phone number is 555-9876."),
    ("My email is ana@a.org.", "My email is now ana@b.org."),
    ("My number's 555-1234.", "My number’s now 555-9876."),
    ("My favourite colour is blue.", "My favorite color is now green."),
    ("The meeting is on Monday.", "The meeting was moved to Thursday."),
    ("The meeting is on Monday.", "The meeting moved to Thursday."),
    ("My interview is on Monday.", "My interview's now on Friday."),
    ("I smoke.", "I quit smoking."),
    ("I drink coffee every morning.", "I stopped drinking coffee."),
    ("I play tennis every Sunday.", "I don't play tennis anymore."),
    ("I'm allergic to nuts.", "I’m not allergic to nuts any more."),
    ("I'm dating Sam.", "I'm not dating Sam anymore."),
    ("I'm single.", "I got married!"),
    ("I am 31 years old.", "I turned 32 yesterday."),
)
"""Older and newer statement of one speaker, the newer one superseding the older."""

MISSED = (
    ("I work as a nurse.", "I got promoted to head nurse."),  # says more, and a change
    ("Berlin is home for me.", "We packed up and left for Porto."),  # no plain form
    ("I live in Berlin.", "Porto is where I live now."),
    ("I live in Berlin.", "I live in Porto."),  # may be in it; "now" or "moved" would tell
)
"""Changes that the rules do not see; noted so that a gain shows."""

UNCHANGED = (
    ("I live in Berlin.", "I visited Porto last week."),
    ("I live in Berlin.", "I might move to Porto."),
    ("I live in Berlin.", "Should I move to Porto?"),
    ("I live in Berlin.", "I want to live in Rome."),
    ("I live in Berlin.", "I used to live in Madrid."),
    ("I live in Berlin.", "If I lived in Paris, I would paint."),
    ("I live in Berlin.", "I moved to the sales team."),
    ("I live in Berlin.", 'My boss says "I live in Rome."'),
    ("I moved to Porto.", "I love living in Porto."),
    ("I'm vegetarian.", "My brother is not vegetarian."),
    ("I'm married.", "My sister is single."),
    ("I work at Google.", "I met a friend at Netflix."),
    ("I work at Google.", "I work at home today."),
    ("I like the job at Google.", "I left early."),
    ("My favourite book is Emma.", "My favourite movie is Alien."),
    ("My favourite book is Emma.", "My favourite book is Dune."),  # one may have two
    ("My name is Ana.", "My brother's name is Ben."),
    ("My dog is cute.", "My dog is sick."),
    ("The meeting is on Monday.", "The party is on Friday."),
    ("I love pizza.", "I love pasta."),
    ("I play tennis.", "I play chess."),
    ("I eat meat.", "I don't eat meat on Fridays."),
    ("I smoke.", "I don't smoke at home."),
    ("I'm training for a marathon.", "I'm training my dog."),
    ("I have a dog.", "I have a cat."),
    ("I'm 31.", "I ran 32 kilometers."),
    # What is said of a thing is not the thing.
    ("My email is ana@x.com.", "My email is not working."),
    ("My name is Ana.", "My name is hard to spell."),
    ("My birthday is on 3 May.", "My birthday is coming up soon."),
    ("My phone number is 555-1234.", "My number is in your phone."),
    ("My phone number is 555-1234.", "My phone number is (555) 1234."),
    ("My address is 5 Elm Street.", "My address is on the envelope."),
    ("My boss is Tom.", "My boss is now on holiday."),
    ("My doctor is Dr. Smith.", "My new doctor is nice."),
    ("My favorite book is Dune.", "My favorite book is now overdue."),
    # An end of one thing is not the end of others.
    ("I like rivers.", "I don't like it any more."),
    ("I eat fish.", "I don't eat any more cake."),
    ("I own a coffee shop.", "I gave up coffee."),
    ("I run a bakery.", "I stopped running."),
    ("I drink tea every morning.", "I no longer drink."),
    # A capital is not a place.
    ("I live in Porto.", "We moved to Slack."),
    ("I live in Porto.", "I moved to Marketing."),
    ("I live in Porto.", "I just moved to Python 3."),
    ("I work at Amazon.", "I left Amazon a bad review."),
    ("I work at Netflix.", "I quit Netflix because of the prices."),
    # Not asserted, told of the past, or for a while.
    ("I live in Porto.", "It is not true that I live in Paris."),
    ("I live in Porto.", "Nobody believes that I live in Rome."),
    ("I live in Porto.", "Back in 2010, I moved to Berlin."),
    ("I live in Porto.", "I moved to Oslo in 2003 and came back."),
    ("I live in Porto.", "I moved to Oslo for the summer."),
    ("I live in Porto.", "I'm based in Lisbon this week."),
    ("I am 30.", "I am 5."),
    # A date before the verb tells which one is meant.
    ("The meeting is on Monday.", "The meeting on Friday is now cancelled."),
    ("My interview is on Monday.", "My interview now on Friday."),
    # One is in the other, or they are two.
    ("I live in Brooklyn.", "I live in New York City."),
    ("My friend lives in Oslo.", "My friend moved to Rome."),
    ("My brother is single.", "My brother is married."),
)


def entry(
    text: str, speaker: str | None = "Ana", role: str | None = None, kind: Kind = "chat"
) -> Entry:
    now = datetime(2026, 5, 3, tzinfo=UTC)
    return Entry("e", text, "chat", 0, kind, now, speaker=speaker, role=role)


def found(*texts: str) -> list[tuple[int, int]]:
    """Pairs of older and newer text by number; each text is said a day after the one before."""
    groups: dict[tuple[str, str], list[Known]] = {}
    for number, text in enumerate(texts):
        for one in statements(entry(text)):
            groups.setdefault((one.subject, one.slot), []).append(Known(one, number, number))
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


def test_a_statement_that_holds_again_is_not_superseded() -> None:
    texts = "I live in Berlin.", "I moved to Porto.", "I moved back to Berlin."
    assert found(*texts) == [(1, 2)]


def test_the_newest_contradiction_is_the_one_that_counts() -> None:
    assert found("I live in Berlin.", "I moved to Porto.", "I moved to Rome.") == [(0, 2), (1, 2)]


def test_what_supersedes_what_does_not_depend_on_the_order_of_adding() -> None:
    texts = "I live in Berlin.", "I moved to Porto.", "I moved to Rome.", "I live in Rome."
    known = [Known(one, n, n) for n, text in enumerate(texts) for one in statements(entry(text))]
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
    assert [one.value for one in statements(entry(text))] == [value]


def test_a_short_word_that_ends_a_sentence_does_not_swallow_the_next() -> None:
    stated = statements(entry("I moved to Oak St. I work at Google now."))
    assert [(one.slot, one.value) for one in stated] == [("home", "Oak St"), ("employer", "Google")]


def test_a_place_ends_before_what_only_looks_like_its_name() -> None:
    [one] = statements(entry("I moved to Porto last week."))
    assert one.value == "Porto"
    [one] = statements(entry("I moved to Rio de Janeiro in May."))
    assert one.value == "Rio de Janeiro"
