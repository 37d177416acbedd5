"""Running versions side by side."""

from __future__ import annotations

from treering.views.code.guard.evidence import Evidence, Version
from treering.views.code.guard.wording import read_instruction as read
from treering_bench.undone.sandbox import CallOutcome
from treering_bench.undone.trial import Laboratory, Trial, fulfils, same

PLAIN = "def double(n):\n    return n * 2\n\n\ndouble(4)\n"
GUARDED = """\
def double(n):
    if not isinstance(n, int):
        raise TypeError('n')
    return n + n
"""
REWRITTEN = """\
def double(k):
    if type(k) is not int and type(k) is not bool:
        raise TypeError
    return 2 * k
"""
ASKED = ("Write 'double'.", "Raise a TypeError if the input is not an integer.", "Follow PEP 8.")


def trial(*codes: str) -> Trial:
    versions = [Version(read(a), c, None) for a, c in zip(ASKED, codes, strict=True)]
    return Trial.of(Laboratory("double"), versions)


def evidence(*codes: str, met: tuple[bool, ...] | None = None) -> Evidence:
    return trial(*codes).evidence(1, met)


def test_a_change_that_is_taken_back_shows_on_the_inputs_where_it_mattered() -> None:
    lost = evidence(PLAIN, GUARDED, PLAIN)
    assert lost["change reversed"] == 1
    assert lost["change kept"] == 0
    assert lost["first still fulfilled"] == 0


def test_another_way_to_write_the_same_loses_nothing() -> None:
    kept = evidence(PLAIN, GUARDED, REWRITTEN)
    assert kept["same"] == kept["change kept"] == kept["still fulfilled"] == 1


def test_a_definition_that_is_gone_does_not_run() -> None:
    assert evidence(PLAIN, GUARDED, "def twice(n):\n    return n\n")["does not run"] == 1


def test_tests_that_were_run_tell_which_version_it_is_like() -> None:
    told = evidence(PLAIN, GUARDED, GUARDED, met=(True,))
    assert told["like one that met it"] == told["last one met it"] == 1
    assert "like one that did not" not in told


def test_observations_show_the_call_then_and_now() -> None:
    shown = [str(one) for one in trial(PLAIN, GUARDED, PLAIN).observations(1)]
    assert "('a',): raises TypeError: n then, gives 'aa' now" in shown


def test_a_version_is_not_run_twice_on_the_same_input() -> None:
    laboratory = Laboratory("double")
    laboratory.outcomes(PLAIN, ["(1,)"])
    laboratory.runs[PLAIN]["(1,)"] = remembered = CallOutcome("value", text="remembered")
    both = laboratory.outcomes(PLAIN, ["(1,)", "(2,)"])
    assert both["(1,)"] is remembered
    assert both["(2,)"].text == "4"


def test_errors_are_alike_by_their_kind_and_values_by_what_they_are() -> None:
    assert same(CallOutcome("raise", "TypeError", "a"), CallOutcome("raise", "TypeError", "b"))
    assert not same(CallOutcome("raise", "TypeError"), CallOutcome("raise", "ValueError"))
    assert not same(CallOutcome("value", text="1"), CallOutcome("value", text="2"))


def test_a_requirement_is_fulfilled_by_its_error_with_its_message_or_by_its_value() -> None:
    asked = read("Raise a ValueError with the message 'no such key' if the key is not a string.")
    assert fulfils(asked, "(1,)", CallOutcome("raise", "ValueError", "no such key: 1"))
    assert not fulfils(asked, "(1,)", CallOutcome("raise", "ValueError", "bad"))
    assert fulfils(read("Return -1 for an empty list."), "([],)", CallOutcome("value", text="-1"))
    unchanged = read("Return the original list if it is sorted.")
    assert fulfils(unchanged, "([1],)", CallOutcome("value", text="[1]"))
