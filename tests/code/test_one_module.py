"""A module with three fixes, and the changes that somebody makes to it afterwards."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from tests.code.working import commit, repository, write
from treering.views.code.guard.check import CheckReport, check
from treering.views.code.parse.parts import read_definition

FIRST = """\
import socket


def fetch(host, path):
    conn = socket.create_connection((host, 80))
    conn.sendall(path.encode())
    data = conn.recv(4096)
    conn.close()
    return data


def total(items):
    return sum(item["price"] * item["count"] for item in items)


def price(text):
    return float(text)
"""
TRY = """\
    try:
        conn.sendall(path.encode())
        return conn.recv(4096)
    finally:
        conn.close()
"""
CONNECT = "    conn = socket.create_connection((host, 80), timeout=5)\n"
GUARD = '    if not items:\n        raise ValueError("nothing to add up")\n'
SUM = 'sum(item["price"] * item["count"] for item in items if item["count"] > 0)'
SAFE = FIRST.replace(
    FIRST[FIRST.index("    conn =") : FIRST.index("\n\ndef total")], f"{CONNECT}{TRY}"
)
EXACT = SAFE.replace(
    SAFE[SAFE.index("    return sum") : SAFE.index("\n\ndef price")],
    f"{GUARD}    return round({SUM}, 2)\n",
)
LATEST = EXACT.replace("float(text)", 'float(text.strip().replace(",", "."))')

UNGUARDED = LATEST.replace(GUARD, "")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = repository(tmp_path / "repository", m=FIRST)
    for number, text in enumerate((SAFE, EXACT, LATEST), 1):
        commit(made, f"Fix {number}", m=text)
    return made


def checked(root: Path, now: str) -> CheckReport:
    write(root, m=now)
    return check(root, ())


def test_a_finding_says_which_rules_hold(root: Path) -> None:
    (guard,) = checked(root, UNGUARDED).undone
    assert set(guard.rules) == {"an error is dropped", "an addition is gone"}


def test_the_whole_file_of_before_undoes_every_fix_once(root: Path) -> None:
    report = checked(root, FIRST)
    assert sorted(one.instruction.strip() for one in report.undone) == ["Fix 1", "Fix 2", "Fix 3"]


def test_a_definition_that_is_deleted_is_counted_and_not_compared(root: Path) -> None:
    report = checked(root, LATEST[: LATEST.index("\n\ndef price")])
    assert (report.definitions, report.deleted, report.undone) == (0, 1, ())


@pytest.mark.parametrize("now", [FIRST, UNGUARDED], ids=["much", "little"])
def test_every_text_is_parsed_once(root: Path, now: str) -> None:
    write(root, m=now)
    read_definition.cache_clear()
    parsed: Counter[bytes] = Counter()

    def count(frame: FrameType, event: str, called: object) -> None:
        if event == "c_call" and getattr(called, "__qualname__", "") == "Parser.parse":
            parsed[frame.f_locals["source"]] += 1

    profiled(count, lambda: check(root, ()))
    assert parsed
    assert set(parsed.values()) == {1}


def profiled(count: Callable[[FrameType, str, object], None], run: Callable[[], object]) -> None:
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
