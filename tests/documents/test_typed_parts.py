"""A part of a document in the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Treering, process, records, settings, treering
from tests.documents import writing

__all__ = ["process", "settings", "treering"]


@pytest.mark.parametrize("added", ["papers/lease.pdf", "papers"])
def test_a_part_of_a_document_is_selected_by_the_name_that_is_listed(
    treering: Treering, tmp_path: Path, added: str
) -> None:
    (tmp_path / "papers").mkdir()
    pages = ["The rent is 900 euros.", "Two keys were given.", "Cats are allowed."]
    (tmp_path / "papers" / "lease.pdf").write_bytes(writing.pdf(pages))
    assert treering("add", added).exit_code == 0
    [line] = [line for line in treering("list", "--sources").stdout.splitlines() if "#2" in line]
    typed = line.split()[-1]
    hits = records(treering("search", "keys", "--source", typed, "--json"))
    assert [hit["text"] for hit in hits] == ["Two keys were given."]
    assert "nothing to forget" in treering("forget", "--source", f"{typed}9", "--yes").stderr
    assert treering("forget", "--source", typed, "--yes").exit_code == 0
    texts = [entry["text"] for entry in records(treering("list", "--json"))]
    assert texts == ["The rent is 900 euros.", "Cats are allowed."]
