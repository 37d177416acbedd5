"""What is kept in files for agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from treering.hooks.places import read_record


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"\xff", b'{"a": '])
def test_a_record_that_is_damaged_is_empty(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "sessions"
    assert read_record(path) == {}
    path.write_bytes(content)
    assert read_record(path) == {}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "sessions"
    path.write_bytes(b'{"a session": 1.5}')
    assert read_record(path) == {"a session": 1.5}
