"""Files as sources: what a second file or a changed one does to what is there."""

from pathlib import Path

import pytest

from treering import Memory
from treering.errors import InputError


def test_a_second_file_does_not_replace_the_first_of_the_same_source(
    memory: Memory, tmp_path: Path
) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("one alpha")
    second.write_text("two beta")
    memory.add(first, source="docs")
    with pytest.raises(InputError, match=r"was read from .*a\.txt; .*b\.txt would replace it"):
        memory.add(second, source="docs")
    assert [entry.text for entry in memory.entries()] == ["one alpha"]


def test_the_old_text_of_a_changed_file_leaves_the_bytes_with_the_next_settle(
    memory: Memory, path: Path, tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    note.write_text("The old password was hunter-seventeen.")
    memory.add(note)
    note.write_text("There is no password.")
    memory.add(note)
    memory.settle()
    assert b"hunter-seventeen" not in path.read_bytes()
