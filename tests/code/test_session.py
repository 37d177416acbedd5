"""Session memory: AST diffs, sequences, working memory, and the paper's detector."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from treering.views.code.parse.syntax import statements
from treering.views.code.rounds.session import (
    CodeDelta,
    SessionBlock,
    change,
    conflicts,
    with_changes,
    working_memory,
)

PLAIN = """\
def setmaxsize(self, maxsize):
    self.maxsize = maxsize
    self._msgsize_maxsize = self._calc_msgsize_maxsize(maxsize)
"""
GUARDED = """\
def setmaxsize(self, maxsize):
    if not isinstance(maxsize, int) or maxsize < 0:
        raise ValueError("maxsize must be a non-negative integer")
    self.maxsize = maxsize
    self._msgsize_maxsize = self._calc_msgsize_maxsize(maxsize)
"""
ASKED = ("Write it.", "Refuse a size below 0.", "Follow PEP 8.")
FORGETFUL = PLAIN.replace("):\n", '):\n    """Set the maximum size."""\n    # PEP 8\n')


def test_the_papers_case_study_adds_a_guard_and_loses_it_again() -> None:
    then = change(PLAIN, GUARDED, "python")
    now = change(GUARDED, FORGETFUL, "python")
    assert sorted(s.type for s in then.added) == ["if_statement", "raise_statement"]
    assert not then.deleted
    assert now.reversing(then) == CodeDelta(deleted=then.added)


def test_comments_docstrings_quotes_and_white_space_are_not_compared() -> None:
    one = "def f(a):\n    return g('x', a)\n"
    other = 'def f( a ):\n    """Doc."""\n    # why\n    return g( "x",\n        a )\n'
    assert change(one, other, "python") == CodeDelta()


def test_the_head_of_a_statement_is_shown_without_the_comment_behind_it() -> None:
    code = "def half(n):  # of n\n    if n:  # not 0\n        return n / 2\n    else:\n        0\n"
    shown = [statement.source for statement in statements(code, "python")]
    assert shown == ["def half(n):", "if n:\nelse:", "return n / 2", "0"]
    caught = "try:\n    a()\nexcept (\n    A,\n    B,\n):\n    b()\nfinally:\n    c()\n"
    shown = [statement.source for statement in statements(caught, "python")]
    assert shown == ["try:\nexcept (\n    A,\n    B,\n):\nfinally:", "a()", "b()", "c()"]


def test_indenting_a_statement_adds_only_what_it_is_put_in() -> None:
    delta = change("a()\nb()\n", "a()\nif c:\n    b()\n", "python")
    assert [s.text for s in delta.added] == ["if c :"]
    assert not delta.deleted


def test_a_statement_that_is_there_twice_counts_twice() -> None:
    assert [s.text for s in change("a()\n", "a()\na()\n", "python").added] == ["a ( )"]


LINES = st.lists(st.sampled_from(["a()", "b = 1", "if c:\n    d()", "return e", "# f"]), max_size=6)


@given(LINES, LINES)
def test_the_way_back_is_the_change_reversed(one: list[str], other: list[str]) -> None:
    before, after = "\n".join(one), "\n".join(other)
    there, back = change(before, after, "python"), change(after, before, "python")
    assert there == CodeDelta(back.deleted, back.added)
    assert back.reversing(there) == back


@given(st.text())
def test_any_text_has_statements(text: str) -> None:
    for statement in statements(text.encode(errors="ignore").decode(), "python"):
        assert statement.first_line >= 1


def exact(one: str, other: str) -> float:
    return float(one == other)


def remembered(*codes: str, asked: Sequence[str] = ASKED) -> Sequence[SessionBlock]:
    return with_changes(
        SessionBlock("setmaxsize", one, code) for one, code in zip(asked, codes, strict=False)
    )


def test_the_first_block_has_no_change_and_the_next_has_the_diff() -> None:
    first, second = remembered(PLAIN, GUARDED)
    assert not first.change.added
    assert {s.type for s in second.change.added} == {"if_statement", "raise_statement"}


def test_working_memory_is_the_last_block_and_those_of_like_instruction() -> None:
    blocks = remembered(*[GUARDED] * 3, asked=("check", "faster", "check"))
    assert [b.instruction for b in working_memory(blocks, exact)] == ["check", "check"]
    assert working_memory([], exact) == ()


def test_the_papers_detector_names_the_block_whose_guard_is_gone() -> None:
    blocks = remembered(PLAIN, GUARDED)
    ((block, delta),) = conflicts(blocks, ASKED[2], PLAIN, exact)
    assert block.instruction == ASKED[1]
    assert {"if_statement", "raise_statement"} <= {s.type for s in delta.deleted}
    assert conflicts(blocks, ASKED[1], PLAIN, exact) == []  # of the same intent
    assert conflicts((), ASKED[0], PLAIN, exact) == []
