"""Source files that somebody made to hold up the index or the guard: they take seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.code.working import commit, repository
from treering import Memory
from treering.records import Skipped
from treering.views.code.index.indexing import TOO_DEEP


def lines(piece: str, count: int) -> str:
    """Many pieces, some to a line: one long line would be taken for minified."""
    return "".join(piece + ("\n" if at % 40 == 0 else "") for at in range(count))


SLOW = {
    "a chain of members": ("m.py", f"y = (x{lines('.a', 40_000)})\n"),
    "a long sum": ("m.py", f"y = (1{lines('+1', 40_000)})\n"),
    "calls in calls": ("m.py", "f(\n" * 20_000 + ")\n" * 20_000),
    "calls in calls, JavaScript": ("m.js", "f(\n" * 20_000 + ")\n" * 20_000),
    "one name defined over and over": ("m.py", "def f(): f()\n" * 8_000),
    "one method of one class over and over": (
        "m.py",
        "class C:\n" + "  def get_x(self): self.get_x()\n" * 8_000,
    ),
    "one method of many classes": (
        "m.py",
        "".join(f"class C{n}:\n  def get_x(self): a{n}.get_x()\n" for n in range(3_000)),
    ),
}
"""Each took the square of its length: 45 to 70 seconds and more."""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "memory.db") as opened:
        yield opened


@pytest.mark.timeout(40)
@pytest.mark.parametrize("name", SLOW)
def test_a_source_that_repeats_itself_is_indexed_in_seconds(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    file, text = SLOW[name]
    root = tmp_path / "project"
    root.mkdir()
    (root / file).write_text(text)
    assert memory.code.index(root).added == (file,)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["a chain of members", "calls in calls"])
def test_a_source_that_repeats_itself_is_checked_in_seconds(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    file, text = SLOW[name]
    root = repository(tmp_path / "project", m="x = 1\n")
    (root / file).write_text("x = 2\n" + text)
    commit(root, "Fix what is wrong")
    (root / file).write_text("x = 1\n" + text)
    memory.code.record("Again.", root=root)
    memory.code.check(root=root)


def test_a_file_whose_definitions_nest_too_deeply_is_left_out_and_the_others_are_not(
    memory: Memory, tmp_path: Path
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    deep = root / "deep.js"
    deep.write_text("function f() {\n}\n")
    (root / "m.py").write_text("def f():\n    return 1\n")
    memory.code.index(root)
    deep.write_text("function f() {\n" * 3_000 + "}\n" * 3_000)
    receipt = memory.code.index(root)
    assert receipt.skipped == (Skipped("deep.js", TOO_DEEP),)
    assert (receipt.changed, receipt.removed, receipt.unchanged) == ((), ("deep.js",), 1)
    assert {hit.path for hit in memory.code.search("f")} == {"m.py"}
    assert memory.code.index(root).skipped == receipt.skipped
