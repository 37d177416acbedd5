"""Source files made to hold up the index or the guard: the time grows only with the length."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from tests.code.working import commit, repository
from tests.conftest import Open
from treering import Memory
from treering.views.code.index.code_index import CodeIndex, code_terms, index_file
from treering.views.code.parse.parser import MAX_NESTING
from treering.views.code.parse.pieces import pieces
from treering.views.code.parse.source_files import MAX_BYTES


def lines(piece: str, count: int) -> str:
    """Many pieces, some to a line: one long line would be taken for minified."""
    return "".join(piece + ("\n" if at % 40 == 0 else "") for at in range(count))


def calls(count: int) -> str:
    return "f(\n" * count + ")\n" * count


def methods(count: int) -> str:
    return "".join(f"class C{n}:\n  def get_x(self): a{n}.get_x()\n" for n in range(count))


SLOW: dict[str, tuple[str, int, Callable[[int], str]]] = {
    "a chain of members": ("m.py", 40_000, lambda n: f"y = (x{lines('.a', n)})\n"),
    "calls in calls": ("m.py", 20_000, calls),
    "one name defined over and over": ("m.py", 8_000, lambda n: "def f(): f()\n" * n),
    "one method of one class over and over": (
        "m.py",
        8_000,
        lambda n: "class C:\n" + "  def get_x(self): self.get_x()\n" * n,
    ),
    "one method of many classes": ("m.py", 3_000, methods),
}
"""The file, how often it repeats itself, and its text of so many: each took the square of its
length, 45 to 70 seconds and more."""

FOURFOLD = 11.0
"""Four times the text may take so many times as long; by the square it would be sixteen times."""

TRIES = 3
"""A machine that gets slower in between is forgiven twice; a square shows each time."""

SPARE_S = 0.3


def seconds(work: Callable[[], object]) -> float:
    """The processor time that it takes, which does not depend on what else goes on here."""
    began = process_time()
    work()
    return process_time() - began


def is_like_its_length(timed: Callable[[str, int], float], quarter: int) -> bool:
    """Whether a text of four times the length takes no more than some four times as long."""
    timed("first", 10)
    return any(
        timed(f"whole {again}", 4 * quarter)
        < FOURFOLD * timed(f"quarter {again}", quarter) + SPARE_S
        for again in range(TRIES)
    )


@pytest.mark.parametrize("name", SLOW)
def test_a_source_that_repeats_itself_is_indexed_in_a_time_like_its_length(
    open_memory: Open, tmp_path: Path, name: str
) -> None:
    file, count, text = SLOW[name]

    def indexed(folder: str, times: int) -> float:
        root = tmp_path / folder
        root.mkdir()
        (root / file).write_text(text(times))
        memory = open_memory(tmp_path / f"{folder}.db")
        return seconds(lambda: memory.code.index(root))

    assert is_like_its_length(indexed, count // 16)


MANY = 2_000


def functions(body: Callable[[int], str]) -> str:
    return "".join(f"def f{n}(): {body(n)}\n" for n in range(MANY))


def nested(depth: int) -> str:
    heads = ["  " * level + f"def f{level}():\n" for level in range(depth)]
    return "".join([*heads, "  " * depth + "f0()\n"]) * (MANY // depth)


WIDE: dict[str, str] = {
    "each calls the one before": functions(lambda n: f"f{n - 1}()"),
    "each calls any other": functions(lambda n: f"f{7 * n % 1_993}()"),
    "each calls one helper": functions(lambda n: "f0()"),
    "each is of its own class": "".join(
        f"class C{n}:\n  def m(self): return C{7 * n % 1_993}().m()\n" for n in range(MANY)
    ),
    "they nest": nested(40),
}
"""Files of 2,000 functions: by the square, the first two took 10 seconds of processor time and
1.1 GB."""

WIDE_S = 4.0
"""Each takes up to half a second of processor time; another machine may be slower."""
WIDE_BYTES = 100_000_000


@pytest.mark.parametrize("text", WIDE.values(), ids=WIDE)
def test_a_file_of_thousands_of_functions_takes_little_time_and_memory(text: str) -> None:
    index = CodeIndex()
    file = index_file(text, "m.py", "python", "blocks")
    tracemalloc.start()
    took = seconds(lambda: index.update({"m.py": file}))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took < WIDE_S
    assert peak < WIDE_BYTES
    assert len(index) > 0


def short(count: int, name: str, callee: str) -> str:
    """Functions that windows cut in two, so that their calls have fragments of their own."""
    return "".join(
        f"def {name}{n}():\n    x = {n}\n    {callee}{7 * n % count}()\n" for n in range(count)
    )


def test_a_file_with_too_many_paths_is_found_without_them(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "wide.py").write_text(short(4_000, "f", "f"))
    (tmp_path / "m.py").write_text("def f():\n    return 1\n")
    assert len(memory.code.index(tmp_path, unit="windows").added) == 2
    _, index = memory.code._repositories.open_index(None)
    assert index.relation.operator.calls.nnz == 0
    assert memory.code.search("f3999")[0].path == "wide.py"


@pytest.mark.parametrize("name", ["a chain of members", "calls in calls"])
def test_a_source_that_repeats_itself_is_checked_in_a_time_like_its_length(
    open_memory: Open, tmp_path: Path, name: str
) -> None:
    file, count, text = SLOW[name]

    def checked(folder: str, times: int) -> float:
        root = repository(tmp_path / folder, m="x = 1\n")
        (root / file).write_text("x = 2\n" + text(times))
        commit(root, "Fix what is wrong")
        (root / file).write_text("x = 1\n" + text(times))
        memory = open_memory(tmp_path / f"{folder}.db")
        took = seconds(lambda: memory.code.record("Again.", root=root))
        return took + seconds(lambda: memory.code.check(root=root))

    assert is_like_its_length(checked, count // 16)


def test_definitions_that_nest_too_deeply_are_part_of_one_that_does_not() -> None:
    file = index_file("function f() {\n" * 3_000 + "}\n" * 3_000, "m.js", "javascript", "blocks")
    assert len(file.parsed.definitions) == MAX_NESTING
    assert file.fragments[-1].last == 6_000


def test_what_nobody_wrote_is_no_part_of_a_change_that_is_checked() -> None:
    assert pieces("shop.js", "function f() { return 1; }\n")
    assert pieces("bundle.js", f"var a = [{'1,' * 400}];\nfunction f() {{ return 1; }}") == {}
    assert pieces("large.js", "function f() { return 1; }\n" * (MAX_BYTES // 20)) == {}


def test_a_long_word_of_digits_takes_as_long_as_its_length_to_have_its_terms() -> None:
    assert len(code_terms("parseHTTPHeader")) == 4  # the identifier and its words
    # It took five seconds, and 100,000 digits two minutes.
    assert seconds(lambda: code_terms("0123456789" * 2_000)) < 1.0
