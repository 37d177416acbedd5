"""Copying a space: there and back is the identity, and whatever stands in its way is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from treering import Memory, copy_space
from treering.errors import CopyMismatch, InputError

pytestmark = pytest.mark.both_engines

NUMBERS = count()


def opened(open_memory: Open, tmp: Path) -> Memory:
    """A memory that holds nothing yet."""
    return open_memory(tmp / f"{next(NUMBERS)}.db")


def talk(memory: Memory, lines: int, said: str = "ok") -> None:
    """Say the same again and again, which is told apart by number alone."""
    memory.add([{"role": "user", "content": said} for _ in range(lines)], source="talk")


@pytest.fixture
def source(open_memory: Open) -> Memory:
    memory = open_memory(Path("source.db").absolute())
    memory.configure(fragment="50 words", k=3)
    memory.add(
        "The boiler is 13 years old.",
        source="house",
        pin=True,
        expires="2100-01-01",
        at="2026-03-01",
    )
    memory.add("The boiler is new.", source="house", metadata={"price": [1.5, None]})
    old, new = (entry.id for entry in memory.entries())
    memory.supersede(old, new)
    talk(memory, 2)
    return memory


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path_factory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("copying"))


def test_a_copy_is_what_was_copied_and_so_is_the_copy_of_the_copy(
    open_memory: Open, source: Memory
) -> None:
    there, back = opened(open_memory, Path.cwd()), opened(open_memory, Path.cwd())
    done = copy_space(source, there)
    assert (done.entries, done.added, done.pending) == (4, 4, 0)
    assert copy_space(there, back).digest == done.digest
    assert list(source.export()) == list(there.export()) == list(back.export())
    assert len(there.search("boiler", k=5)) == len(source.search("boiler", k=5))
    assert back.check() == []


def test_a_copy_that_fails_holds_nothing_and_one_that_is_repeated_adds_what_is_new(
    open_memory: Open, source: Memory
) -> None:
    there = opened(open_memory, Path.cwd())

    def broken(lines: Iterable[str], **options: Any) -> Any:
        return Memory.import_(there, [*lines, "{"], **options)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(InputError):
        patch.setattr(there, "import_", broken)
        copy_space(source, there)
    assert there.spaces() == []
    assert copy_space(source, there).added == 4
    talk(source, 3)
    assert copy_space(source, there).added == 1
    assert copy_space(source, there).added == 0


class Changing:
    """A memory that somebody changes while it is copied."""

    def __init__(self, memory: Memory, change: Any) -> None:
        self._memory, self._change = memory, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    def export(self) -> Iterator[str]:
        yield from self._memory.export()
        self._change()


def test_a_source_that_gains_entries_meanwhile_is_told_and_copied_when_asked_again(
    open_memory: Open, source: Memory
) -> None:
    there = opened(open_memory, Path.cwd())
    changing: Any = Changing(source, lambda: talk(source, 3))
    with pytest.raises(CopyMismatch):
        copy_space(changing, there)
    assert copy_space(source, there).added == 1


def test_a_source_that_forgets_meanwhile_is_told_and_what_it_forgot_is_not_kept_silently(
    open_memory: Open, source: Memory
) -> None:
    there = opened(open_memory, Path.cwd())
    first = next(source.entries(source="talk")).id

    def forget() -> None:
        if any(entry.id == first for entry in source.entries(source="talk")):
            source.forget(first)

    changing: Any = Changing(source, forget)
    with pytest.raises(CopyMismatch):
        copy_space(changing, there)
    with pytest.raises(InputError):
        copy_space(source, there)
    there.forget(first)
    assert copy_space(source, there).added == 0


def test_what_holds_something_else_is_no_target_and_is_left_as_it_is(
    open_memory: Open, source: Memory
) -> None:
    there = opened(open_memory, Path.cwd())
    there.add("Ben likes trains.")
    before = list(there.export())
    with pytest.raises(InputError):
        copy_space(source, there)
    assert list(there.export()) == before
