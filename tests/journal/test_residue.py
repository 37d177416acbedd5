"""Looking for bytes in a file, however large, while SQLite has it open."""

from __future__ import annotations

from pathlib import Path

import pytest

from treering.journal import opened, residue

BLOCK = 1 << 20


@pytest.mark.parametrize("start", [0, BLOCK - 3, BLOCK, 2 * BLOCK - 7, 2 * BLOCK + 5])
def test_a_needle_is_found_wherever_it_lies(tmp_path: Path, start: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(start) + b"needle!" + bytes(BLOCK))
    inode = opened.enter(path)
    assert residue.holds(inode, [b"absent", b"needle!"])
    assert not residue.holds(inode, [b"needle?"])
    opened.leave(inode)
    assert residue.log_holds(path, [b"needle!"])


def test_a_file_of_two_databases_is_left_with_the_last(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"needle")
    first, second = opened.enter(path), opened.enter(path)
    assert residue.holds(first, [b"needle"])
    opened.leave(first)
    path.write_bytes(b"noodle")
    assert residue.holds(second, [b"noodle"])
    opened.leave(second)


def test_nothing_is_found_in_an_empty_file_or_for_no_needle(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    assert not residue.log_holds(path, [b"needle"])
    path.write_bytes(b"text")
    assert not residue.log_holds(path, [])
