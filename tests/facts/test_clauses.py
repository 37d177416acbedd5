"""Reading clauses: free wording, notes, casual writing; and that nothing makes it fail or slow."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.facts.test_statements import entry
from treering.views.facts import verbs
from treering.views.facts.form import DOES
from treering.views.facts.statement import statements
from treering.views.facts.wording import plain

SLOTS = [
    ("I am living in Ghent since three years.", "home", "Ghent"),
    ("My wife, she is called Marta.", "wife", "Marta"),
    ("We have a dog now, his name is Bruno.", "dog", "Bruno"),
    ("Actually I live in Vienna.", "home", "Vienna"),
    ("so um i just wanted to say that i moved to denver like two weeks ago", "home", "denver"),
    ("my new gig is at the aquarium", "gig at", "the aquarium"),
    ("they moved my standup to 9:30", "standup", "9:30"),
    ("New phone: Pixel 8.", "phone", "Pixel 8"),
    ("Home: Lisbon (was Porto).", "home", "Lisbon"),
    ("Dentist is Dr Wu as of this week.", "dentist", "Dr Wu"),
    ("Job title: staff engineer.", "job title", "staff engineer"),
    ("Wifi password changed to bluebird.", "wifi password", "bluebird"),
    ("Vegan now.", "diet", "Vegan"),
    ("Promoted to staff engineer last week!", "occupation", "staff engineer"),
    ("Car's a Fiat now, Skoda sold.", "car", "Fiat"),
    ("Leeds is home now.", "home", "Leeds"),
    ("Priya is my manager now.", "manager", "Priya"),
    ("Dr Chen took over as my GP in May.", "gp", "Dr Chen"),
    ("My daughter Harriet started school.", "daughter", "Harriet"),
    ("My parents live in Faro now.", "home", "Faro"),
    ("My birthday isn't in May, it's on 3 June.", "birthday", "3 June"),
    ("The new car is a Dacia.", "car", "Dacia"),
    ("Bosch hired me last month.", "employer", "Bosch"),
    ("I've moved my savings over to Triodos.", "savings", "Triodos"),
    ("Our wedding anniversary is 12 August.", "wedding anniversary", "12 August"),
    ("My middle name is Rosalie.", "middle name", "Rosalie"),
    ("I'm seeing someone new, his name is Marco.", "partner", "Marco"),
    ("My flat is now in Utrecht, not more in Delft.", "home", "Utrecht"),
    ("My mother tongue is Tamil.", "mother tongue", "Tamil"),
    ("I come from Pune, but I live in Dublin already five years.", "home", "Dublin"),
    ("My number in Germany is +49 151 2345678.", "number in germany", "+49 151 2345678"),
    ("My boyfriend Luca and I have married in April.", "status", "married"),
    ("We are four in the family now, because my son Milo was born in June.", "son", "Milo"),
    ("My favorite football club is Napoli.", "favorite football club", "Napoli"),
    ("My chief is now Mrs Keller, Mr Brandt went in pension.", "chief", "Mrs Keller"),
    ("My landlady raised the rent to 950.", "rent", "950"),
    (
        "My daily driver is a Framework 13 running Debian now.",
        "daily driver",
        "Framework 13 running Debian",
    ),
    ("Moved my dotfiles to Codeberg.", "dotfiles", "Codeberg"),
    ("Standup's at 10 instead of 9:30 from now on.", "standup at", "10"),
    ("My badge number got reissued: 88213.", "badge number", "88213"),
    ("my roommate's name is jordan", "roommate", "jordan"),
    ("i'm vegan btw", "diet", "vegan"),
    ("My drink of choice is rooibos.", "drink of choice", "rooibos"),
]
"""Statements in free wording, each with a slot and its value."""

HABITS = [
    ("Since March I work at Siemens as a tester.", "work at Siemens as a tester"),
    ("Before I was in Porto, now I am in Lisbon.", "in Lisbon"),
    (
        "We have changed the school, now my son goes to Riverside Primary.",
        "goes to Riverside Primary",
    ),
    ("okay so we ended up going with the honda instead of the ford", "going with the honda"),
    ("yeah no i'm not at google anymore i'm at stripe", "at stripe"),
    ("i go by nina these days not antonina", "go by nina these days not antonina"),
    ("my blood type is o negative", "o negative"),
    ("we switched the kids to oakwood elementary", "use Oakwood Elementary"),
    ("we finally closed on the house on maple street", "closed on the house on maple street"),
    ("took a job with the forest service", "took a job with the forest service"),
    ("i'm down to one coffee a day", "down to one coffee a day"),
    ("i've been off sugar since lent", "off sugar since lent"),
    ("Now drinking oat milk instead of cow's.", "drinking oat milk"),
    ("No more gym for me.", "gym"),
    ("Gave up coffee; tea only.", "drink coffee"),
    ("It's tea for me now, not coffee.", "tea"),
    ("Tea has replaced coffee in my mornings.", "have Tea"),
    ("I said goodbye to Twitter last week.", "have Twitter"),
    ("I'm done with night shifts.", "night shifts"),
    ("I was diagnosed with coeliac disease in spring.", "diagnosed with coeliac disease in spring"),
    ("I got transferred to the Lyon office.", "transferred to the Lyon office"),
    ("We've got a new puppy, Waffles.", "have a new puppy, Waffles"),
    ("I prefer tea to coffee these days.", "prefer tea to coffee"),
    ("I'm back on decaf.", "on decaf"),
    ("We have a cat, a tortoise and two budgies.", "have a cat, a tortoise and two budgies"),
    ("I speak Dutch, French and a bit of German.", "speak Dutch, French and a bit of German"),
    ("Nowadays I commute by train.", "commute by train"),
    ("I've gone from full-time to four days a week.", "use four days a week"),
    ("These days you'll find me at the Crown on Fridays.", "at the Crown"),
    ("I decided to go with Vodafone in the end.", "go with Vodafone in the end"),
    ("I ended up keeping the red one and sold the blue bike.", "have blue bike"),
    ("I've taken up pottery and dropped ballet.", "pottery and dropped ballet"),
    ("I haven't smoked since January.", "smoked"),
    ("Just so you know, I'm a night owl.", "night owl"),
    ("My therapist moved away so I see Dr Blum instead.", "see Dr Blum"),
    ("I passed my driving test and got a Polo.", "have Polo"),
    ("I have changed my job, I am now at Philips.", "at Philips"),
    ("I am working since May for the Red Cross.", "working since May for the Red Cross"),
    ("I don't eat pork.", "eat pork"),
    ("I make my doctorate in Zurich.", "make my doctorate in Zurich"),
    ("I changed from the bus to the bicycle.", "use bicycle"),
    ("In the new company I am responsible for logistics.", "responsible for logistics"),
    ("My car is broken since winter, so I take the tram.", "take the tram"),
    ("I cannot eat nuts because of my allergy.", "eat nuts"),
    ("We share the flat with two students.", "share the flat with two students"),
    ("I wear glasses since last year.", "wear glasses since last year"),
    ("I've dropped Chrome in favour of Firefox.", "have Firefox"),
    ("I'm on the payments team now.", "on the payments team"),
    ("We deploy on Thursdays these days, Tuesdays are over.", "deploy on Thursdays"),
    ("I write mostly Rust these days; Go is behind me.", "write mostly Rust"),
    ("i make pots on weekends", "make pots on weekends"),
    ("deleted tiktok, im only on bluesky", "on bluesky"),
    ("my new schedule is tuesdays and fridays", "tuesdays and fridays"),
    ("i'm pre-med now, dropped the art minor", "pre-med"),
    (
        "trying to cut down on sugar but i still drink oat lattes every day",
        "drink oat lattes every day",
    ),
    ("turns out i have adhd", "have adhd"),
    ("my ex has the dog now", "has the dog"),
    ("my grandma moved in with us", "moved in with us"),
    (
        "Having sold the boat, we keep a small caravan at Whitby instead.",
        "keep a small caravan at Whitby",
    ),
    ("It was Earl Grey for years, but I'm a Darjeeling man these days.", "Darjeeling man"),
    (
        "I've been going to a different barber, Mr Yilmaz on Park Road.",
        "going to a different barber, Mr Yilmaz on Park Road",
    ),
    ("After the operation I walk with a stick.", "walk with a stick"),
    ("The new hip is titanium, and I'm back playing bowls.", "playing bowls"),
]
"""Statements of habits, states, and what is had."""

NOTHING = [
    "I would ride a Dawes.",
    "I used to ride a Dawes.",
    "I once rode a Dawes.",
    "If I rode a Dawes, I would be quick.",
    "When I was nine I gave up the recorder and took up the trombone.",
    "Back in 1989 I left a publisher and joined Lloyds Bank.",
    "One of these days I might buy a windmill and live like a miller.",
    'My neighbour says, "I have moved to Leeds."',
    "They joke that I'm the emperor of the compost heap now.",
    "i'm in galway till thursday for a hen do",
    "had a rental golf for the weekend, drove like a dream",
    "painted the hallway yellow today",
    "Should I get a parrot once I retire, do you think?",
    "I'm so excited about this!",
    "I went to Oslo.",
]


@pytest.mark.parametrize(("text", "slot", "value"), SLOTS)
def test_free_wording_gives_a_slot_its_value(text: str, slot: str, value: str) -> None:
    assert (slot, value) in [(stated.slot, stated.value) for stated in statements(entry(text))]


@pytest.mark.parametrize(("text", "value"), HABITS)
def test_free_wording_gives_a_habit_or_state(text: str, value: str) -> None:
    stated = statements(entry(text))
    assert value in [each.value for each in stated if each.slot.startswith(DOES)]


@pytest.mark.parametrize("text", NOTHING)
def test_wishes_the_past_and_what_passes_state_nothing(text: str) -> None:
    assert [each.value for each in statements(entry(text))] == []


def test_a_change_of_somebody_else_is_theirs() -> None:
    stated = statements(entry("My neighbour has sold his Rover and bought a Tesla."))
    assert [each.subject for each in stated if each.subject == "ana"] == []


def test_a_subject_left_out_is_that_of_the_clause_before() -> None:
    stated = statements(entry("I retired from the Post Office in June and now work for Oxfam."))
    read = [(each.slot, each.value, each.sense) for each in stated]
    assert ("employer", "the Post Office", "ends") in read
    assert ("employer", "Oxfam", "holds") in read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("i moved from leeds to bristol", "I moved from Leeds to Bristol"),
        ("sold the corsa", "I sold the corsa"),
        ("btw im at ocado now", "I'm at Ocado now"),
        ("my manager is now elena", "my manager is now Elena"),
        ("My number is 42, in case you need it.", "My number is 42"),
        ("i go to work by bus", "I go to work by bus"),
        ("left tesco n joined greggs", "I left Tesco and joined Greggs"),
        ("i know Ana, now its late", "I know Ana, now it's late"),
    ],
)
def test_informal_writing_is_brought_into_plain_wording(written: str, read: str) -> None:
    assert plain(written) == read


def test_a_name_may_stand_in_the_next_sentence() -> None:
    read = [
        (each.slot, each.value)
        for each in statements(entry("We got a kitten! Her name is Pickle."))
    ]
    assert ("kitten", "Pickle") in read


def test_what_died_gets_nothing_new() -> None:
    stated = statements(entry("my hamster died but got a gecko now"))
    assert {each.subject for each in stated} == {"ana"}


WORDS = sorted(
    verbs.BE
    | verbs.HAVE
    | verbs.SUBJECTS
    | verbs.LINKS
    | verbs.ENDED
    | verbs.SWITCHED
    | verbs.SWAPPED
    | verbs.TAKEN
    | verbs.CHANGED
    | verbs.NAMED_ME
    | verbs.KIN
    | verbs.ROLES
    | {"to", "from", "for", "with", "of", "not", "no", "longer", "any", "more", "called", ",", ":"}
    | {"Porto", "Ana's", "I'm", "it's", "-", "'", "9:30", "a@b.org", "(", ")", "don't", "rent"}
)


@given(st.lists(st.sampled_from(WORDS), max_size=14))
def test_no_row_of_words_makes_reading_fail(words: list[str]) -> None:
    for stated in statements(entry(" ".join(words))):
        assert all((stated.value.strip(), stated.slot, stated.subject))


@given(st.text(max_size=60))
def test_no_text_makes_reading_fail(text: str) -> None:
    assert all(stated.value for stated in statements(entry(text)))


@pytest.mark.parametrize(
    "unit",
    ["my a's ", "and I ", "in my ", "to to ", "I'm not ", "my dog, Rex, ", "no more ", "a-", ":"],
)
def test_a_message_as_long_as_may_be_is_read_in_no_time(unit: str) -> None:
    text = f"i moved {unit * 60}"[:295] + ". "
    start = process_time()
    statements(entry(text * 40))
    assert process_time() - start < 4
