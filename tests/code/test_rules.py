"""Fixes undone in the midst of other work, and fixes that a rewriting keeps."""

from __future__ import annotations

import pytest

from tests.code.undos import FIXES, Fix
from treering.views.code.guard.check import Reversal, reversals
from treering.views.code.guard.rules import arrived_parts
from treering.views.code.parse.pieces import DefinitionChange, all_pieces, changes
from treering.views.code.rounds.history import EarlierChange


def noticed(fix: Fix, now: str) -> list[Reversal]:
    before, after, new = (all_pieces({"m.py": text}) for text in (fix.before, fix.after, now))
    made = changes(after, new)
    arrived = arrived_parts(made)

    def history(change: DefinitionChange) -> list[EarlierChange]:
        assert change.before is not None
        key = change.before.key
        was, is_ = before.get(key), after[key]
        changed = was is None or was.dense() != is_.dense()
        return [EarlierChange(fix.kind, "abc1234", None, "commit", was, is_)] if changed else []

    altered = [one for one in made if one.before is not None]
    return [found for one in altered for found in reversals(one, history(one), arrived)]


def test_a_fix_that_is_taken_out_is_noticed() -> None:
    for fix in FIXES:
        assert noticed(fix, fix.before), fix.kind


def test_a_fix_that_is_lost_among_other_work_is_noticed() -> None:
    for fix in FIXES:
        assert all(noticed(fix, now) for now in fix.undos), fix.kind


def test_a_fix_that_is_kept_in_another_form_is_left_alone() -> None:
    for fix in FIXES:
        assert not any(noticed(fix, now) for now in fix.keeps), fix.kind


def test_the_lines_that_are_lost_are_shown() -> None:
    lock = next(fix for fix in FIXES if fix.kind == "a lock")
    (one,) = noticed(lock, lock.undos[0])
    assert [(line.number, line.text) for line in one.then] == [(3, "with self._lock:")]


@pytest.mark.parametrize(
    ("path", "before", "after", "now"),
    [
        (
            "a.go",
            "package a\n\nfunc (c *C) add() {\n\tc.n++\n\tc.save()\n}\n",
            "package a\n\nfunc (c *C) add() {\n\tc.mu.Lock()\n\tdefer c.mu.Unlock()\n\tc.n++\n"
            "\tc.save()\n}\n",
            "package a\n\nfunc (c *C) add() {\n\tc.n += 1\n\tc.save()\n\tc.tell()\n}\n",
        ),
        (
            "A.java",
            "class A {\n  void add() {\n    this.n = n + 1;\n    save();\n  }\n}\n",
            "class A {\n  void add() {\n    synchronized (lock) {\n      this.n = n + 1;\n    }\n"
            "    save();\n  }\n}\n",
            "class A {\n  void add() {\n    this.n = n + 1;\n    save();\n    int a = 1;\n  }\n}\n",
        ),
        (
            "a.ts",
            "export const LIMIT = 100;\n\nfunction f() {\n  return LIMIT;\n}\n",
            "export const LIMIT = 5000;\n\nfunction f() {\n  return LIMIT;\n}\n",
            "export const LIMIT: number = 100;\nexport const OTHER = 1;\n\n"
            "function f() {\n  return LIMIT;\n}\n",
        ),
        (
            "a.c",
            "int len(char *p) {\n  char *s = p;\n  while (*p++) ;\n  return p - s;\n}\n",
            "int len(char *p) {\n  check(p);\n  char *s = p;\n  while (*p++) ;\n"
            "  return p - s;\n}\n",
            "int len(char *p) {\n  char *s = p;\n  while (*p++) ;\n  int n = p - s;\n"
            "  return n;\n}\n",
        ),
    ],
)
def test_other_languages_are_read_for_it_too(path: str, before: str, after: str, now: str) -> None:
    old, fixed, new = (all_pieces({path: text}) for text in (before, after, now))
    made = changes(fixed, new)
    (change,) = [one for one in made if one.before is not None and one.before.key in old]
    assert change.before is not None
    key = change.before.key
    round_ = EarlierChange("Fix", "abc1234", None, "commit", old[key], fixed[key])
    assert reversals(change, [round_], arrived_parts(made))
