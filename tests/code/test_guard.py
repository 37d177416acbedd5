"""The guard: what a change takes back of an earlier round, and what it leaves people alone with."""

from __future__ import annotations

from treering.views.code.guard.check import Reversal, likely_reversals, reversals
from treering.views.code.guard.rules import arrived_parts
from treering.views.code.parse.pieces import CodePiece, DefinitionChange, all_pieces, changes
from treering.views.code.rounds.history import EarlierChange, Origin

PLAIN = """\
def half(n):
    total = n / 2
    return total
"""
GUARDED = """\
def half(n):
    if n < 0:
        raise ValueError("negative")
    total = n / 2
    return total
"""
RESHAPED = """\
def half(number):
    result = number / 2
    if number < 0:
        raise ValueError("is negative")
    return result
"""


def piece(code: str, path: str = "m.py", name: str = "half") -> CodePiece:
    return all_pieces({path: code})[f"{path}::{name}"]


def brought(
    before: str | None, after: str, origin: Origin = "commit", name: str = "half"
) -> EarlierChange:
    was = None if before is None else piece(before, name=name)
    return EarlierChange(
        "Refuse negative numbers", "abc1234", None, origin, was, piece(after, name=name)
    )


def found(
    before: dict[str, str], after: dict[str, str], *history: EarlierChange
) -> tuple[Reversal, ...]:
    made = changes(all_pieces(before), all_pieces(after))
    return tuple(one for c in made for one in reversals(c, history, arrived_parts(made)))


def test_a_definition_that_is_again_what_it_was_undoes_the_round() -> None:
    (one,) = found({"m.py": GUARDED}, {"m.py": PLAIN}, brought(PLAIN, GUARDED))
    assert (one.name, one.definition, one.line) == ("abc1234", "half", 1)
    assert [(line.number, line.text) for line in one.then] == [
        (2, "if n < 0:"),
        (3, 'raise ValueError("negative")'),
    ]


def test_a_state_that_says_little_is_known_again_as_a_whole() -> None:
    floor, true = "def half(n):\n    return n // 2\n", "def half(n):\n    return n / 2\n"
    (one,) = found({"m.py": true}, {"m.py": floor}, brought(floor, true))
    assert [line.text for line in one.then] == ["return n / 2"]
    other = "def half(n):\n    return n * 0.5\n"
    assert found({"m.py": true}, {"m.py": other}, brought(floor, true)) == ()


def test_renaming_and_reshaping_undoes_nothing() -> None:
    assert found({"m.py": GUARDED}, {"m.py": RESHAPED}, brought(PLAIN, GUARDED)) == ()


def test_a_value_that_is_set_back_is_shown_then_and_now() -> None:
    slow, fast = "def half(n, wait=30):\n    return n\n", "def half(n, wait=5):\n    return n\n"
    other = fast.replace("return n", "return n / 2")
    back = slow.replace("return n", "return n / 2")
    (one,) = found({"m.py": other}, {"m.py": back}, brought(slow, fast))
    assert [line.text for line in one.then] == ["def half(n, wait=5):"]
    assert [line.text for line in one.now] == ["def half(n, wait=30):"]


def test_an_error_that_is_dropped_from_a_rewritten_definition_is_missed() -> None:
    rewritten = "def half(n):\n    log(n)\n    return n * 0.5\n"
    (one,) = found({"m.py": GUARDED}, {"m.py": rewritten}, brought(PLAIN, GUARDED))
    assert [line.text for line in one.then] == ["if n < 0:", 'raise ValueError("negative")']


def test_what_moves_to_a_helper_or_a_caller_is_not_lost() -> None:
    check = "def check(n):\n    if n < 0:\n        raise ValueError('negative')\n"
    helped = check + "\n\n" + PLAIN.replace("total =", "check(n)\n    total =")
    called = f"{check}    return half(n)\n\n\n{PLAIN}"
    for moved in (helped, called):
        assert found({"m.py": GUARDED}, {"m.py": moved}, brought(PLAIN, GUARDED)) == ()


def test_what_was_lost_before_is_not_blamed_on_this_change() -> None:
    now = PLAIN.replace("/ 2", "/ 2.0")
    assert found({"m.py": PLAIN}, {"m.py": now}, brought(PLAIN, GUARDED)) == ()


def test_a_commit_that_created_a_definition_may_be_rewritten_a_round_may_not() -> None:
    rewritten = "def half(n):\n    log(n)\n    return n * 0.5\n"
    change = ({"m.py": GUARDED}, {"m.py": rewritten})
    assert found(*change, brought(None, GUARDED)) == ()
    assert found(*change, brought(None, GUARDED, "round"))


def test_a_definition_that_is_deleted_or_new_undoes_nothing() -> None:
    gone = DefinitionChange(piece(GUARDED), None)
    new = DefinitionChange(None, piece(PLAIN))
    for change in (gone, new):
        assert reversals(change, [brought(PLAIN, GUARDED)], arrived_parts([change])) == ()


def test_a_draft_that_leaves_most_of_a_round_out_is_warned_of_and_stops_no_commit() -> None:
    round_ = brought(None, "def half(n):\n    save(n)\n    tell(n)\n    return n / 2\n")
    draft = piece("def half(n):\n    return divmod(n, 2)[0]\n")
    (one,) = likely_reversals(draft, [round_])
    assert [line.text for line in one.then] == ["save(n)", "tell(n)", "return n / 2"]
    change = DefinitionChange(round_.after, draft)
    assert reversals(change, [round_], arrived_parts([change])) == ()
    kept = piece("def half(n):\n    save(n)\n    tell(n)\n")
    assert likely_reversals(kept, [round_]) == ()


def test_a_constant_that_is_set_back_is_told_and_a_new_value_is_not() -> None:
    round_ = brought("WAIT = 5\n", "WAIT = 30\n", name="")
    (one,) = found({"m.py": "WAIT = 30\n"}, {"m.py": "WAIT = 5\nOTHER = 1\n"}, round_)
    assert [line.text for line in (*one.then, *one.now)] == ["WAIT = 30", "WAIT = 5"]
    assert found({"m.py": "WAIT = 30\n"}, {"m.py": "WAIT = 60\n"}, round_) == ()


def test_of_two_rounds_that_brought_the_same_the_newer_is_told() -> None:
    older, newer = brought(PLAIN, GUARDED), brought(PLAIN, GUARDED, "round")
    told = found({"m.py": GUARDED}, {"m.py": PLAIN}, older, newer)
    assert [one.origin for one in told] == ["round"]
