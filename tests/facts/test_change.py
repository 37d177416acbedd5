"""Which statements supersede which: pairs by hand, and properties over orders of adding."""

from __future__ import annotations

from itertools import permutations

from tests.facts.test_forms import entry
from treering.views.facts.change import (
    DatedStatement,
    Sense,
    Statement,
    find_superseded,
)
from treering.views.facts.forms import read_forms


def dated(texts: tuple[str, ...], speakers: tuple[str, ...] = ()) -> list[DatedStatement]:
    """The statements of texts by number; each text is said a day after the one before."""
    by = speakers or ("Ana",) * len(texts)
    return [
        DatedStatement(one, n, n, n)
        for n, text in enumerate(texts)
        for one in read_forms(entry(text, by[n]))
    ]


def found(*texts: str, speakers: tuple[str, ...] = ()) -> list[tuple[int, int]]:
    """Pairs of older and newer text by number."""
    groups: dict[tuple[str, str], list[DatedStatement]] = {}
    for one in dated(texts, speakers):
        groups.setdefault((one.statement.subject, one.statement.attribute), []).append(one)
    pairs = (pair for group in groups.values() for pair in find_superseded(group))
    return sorted((older.entry, newer.entry) for older, newer in pairs)


def stated(
    attribute: str, value: str, n: int, *, single: bool, sense: Sense = "holds"
) -> DatedStatement:
    """A statement as a model finds it."""
    row = Statement("ana", attribute, value, sense, 0, 1, single, "ana", "scripted")
    return DatedStatement(row, n, n, n)


def test_a_statement_supersedes_what_it_contradicts() -> None:
    cases = [
        ("I live in Berlin.", "I relocated to Porto last week."),
        ("I'm vegetarian.", "I'm no longer vegetarian."),
        ("I work at Google.", "I just started a new job at Netflix."),
        ("My phone number is 555-1234.", "My new phone number is 555-9876."),
        ("My favourite colour is blue.", "My favorite color is now green."),
        ("I drink coffee every morning.", "I stopped drinking coffee."),
        ("I am 31 years old.", "I turned 32 yesterday."),
        ("We're relocating to Oslo.", "We relocated to Rome."),
    ]
    for older, newer in cases:
        assert found(older, newer) == [(0, 1)]


def test_statements_that_can_both_hold_supersede_nothing() -> None:
    cases = [
        ("I live in Berlin.", "I'm relocating to Porto."),
        ("I relocated to Porto.", "I live in Porto, Portugal."),
        ("I work at Google.", "I work for Bosch."),  # a person may have two jobs
        ("My phone number is 555-1234.", "My number is (555) 1234."),
        ("I drink tea every morning.", "I no longer drink."),
        *(("I am 30.", "I am 5."), ("I love the ocean.", "I love new cities.")),
        ("I live in Porto.", "We've moved from Slack to Zulip at work."),
        ("I play tennis.", "I stopped playing tennis at noon to eat."),
        ("My favorite book is Dune.", "My favorite book is now overdue."),
    ]
    for older, newer in cases:
        assert found(older, newer) == []


def test_the_newest_contradiction_counts_and_the_order_of_adding_does_not() -> None:
    assert found("I live in Berlin.", "I relocated to Porto.", "I relocated to Rome.") == [
        (0, 2),
        (1, 2),
    ]
    known = dated(
        ("I live in Berlin.", "I relocated to Porto.", "I relocated to Rome.", "I live in Rome.")
    )
    results = {tuple(find_superseded(order)) for order in permutations(known)}
    assert len(results) == 1


def test_a_statement_about_another_person_changes_nothing_that_they_said() -> None:
    said = "I live in Berlin.", "Ana lives in Hell.", "I live in Rome."
    assert found(*said, speakers=("Ana", "Mallory", "Mallory")) == []
    assert found(*said[:2], "I live in Porto.", speakers=("Ana", "Ben", "Ana")) == [(0, 2), (1, 2)]


def test_a_model_says_which_attributes_have_one_value() -> None:
    first, second = stated("car", "Skoda", 0, single=True), stated("car", "Fiat", 1, single=True)
    assert find_superseded([first, second]) == [(first, second)]
    more = stated("child", "Ada", 0, single=False), stated("child", "Ben", 1, single=False)
    assert find_superseded(more) == []
    gone = stated("child", "Ada", 2, single=False, sense="ended")
    assert find_superseded([*more, gone]) == [(more[0], gone)]
