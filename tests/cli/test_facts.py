"""Facts on the command line."""

from __future__ import annotations

from tests.cli.conftest import Treering, records


def told(treering: Treering) -> None:
    for text, at in (("I live in Berlin.", "2025-01-10"), ("I relocated to Porto.", "2026-05-03")):
        treering("add", text, "--speaker", "Ana", "--kind", "chat", "--at", at)


def test_the_newest_statements_are_listed(treering: Treering) -> None:
    told(treering)
    assert (
        treering("facts").stdout
        == "2026-05-03  ana · home, last stated: Porto  I relocated to Porto.\n"
    )
    [fact] = records(treering("facts", "--json", "--subject", "Ana"))
    assert (fact["subject"], fact["attribute"], fact["value"]) == ("ana", "home", "Porto")


def test_what_was_superseded_is_listed_on_demand(treering: Treering) -> None:
    told(treering)
    shown = treering("facts", "--all").stdout
    assert "I live in Berlin.\n            superseded: 2026-05-03  I relocated to Porto." in shown


def test_entries_are_listed_and_shown_with_what_superseded_them(treering: Treering) -> None:
    told(treering)
    older, newer = treering("list").stdout.splitlines()
    mark = "(superseded since 2026-05-03: I relocated to Porto.)"
    assert older.endswith(f"I live in Berlin. {mark}")
    assert newer.endswith("I relocated to Porto.")
    assert treering("show", older.split()[0]).stdout.endswith(f"\nI live in Berlin. {mark}\n")
    [record, _] = records(treering("list", "--json"))
    assert record["superseded_by"]["text"] == "I relocated to Porto."


def test_the_history_of_an_attribute_names_what_ended(treering: Treering) -> None:
    for text in ("I play tennis every Sunday.", "I don't play tennis any more."):
        treering("add", text, "--speaker", "Ana", "--kind", "chat", "--at", "2026-05-03")
    assert treering("facts").stderr == "nothing found\n"
    shown = treering("facts", "--subject", "Ana", "--attribute", "habit").stdout
    assert "ana · habit: play tennis  I play tennis every Sunday." in shown
    assert "ana · habit, ended: play tennis  I don't play tennis any more." in shown
    assert treering("facts", "--attribute", "habit").exit_code == 2
