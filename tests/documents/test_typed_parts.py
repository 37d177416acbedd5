"""A part of a document, as it is typed in the shell, in whatever folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Treering, process, records, settings, treering
from tests.documents import writing

__all__ = ["process", "settings", "treering"]


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    pages = ["The rent is 900 euros.", "Two keys were given.", "Cats are allowed."]
    (folder / "lease.pdf").write_bytes(writing.pdf(pages))
    return folder


FORMS = [
    *((".", "papers/lease.pdf#2"), (".", "./papers/lease.pdf#2")),
    *(("papers", "lease.pdf#2"), ("papers", "./lease.pdf#2"), ("papers", "../papers/lease.pdf#2")),
]


@pytest.mark.parametrize("added", ["papers/lease.pdf", "papers"])
@pytest.mark.parametrize(("folder", "typed"), FORMS)
def test_a_part_of_a_document_is_selected_by_the_path_that_is_typed(
    treering: Treering,
    papers: Path,
    monkeypatch: pytest.MonkeyPatch,
    added: str,
    folder: str,
    typed: str,
) -> None:
    assert treering("add", added).exit_code == 0
    monkeypatch.chdir(papers.parent / folder)
    hits = records(treering("search", "keys", "--source", typed, "--json"))
    assert [hit["text"] for hit in hits] == ["Two keys were given."]
    assert treering("forget", "--source", typed, "--yes").exit_code == 0
    texts = [entry["text"] for entry in records(treering("list", "--json"))]
    assert texts == ["The rent is 900 euros.", "Cats are allowed."]


def test_a_source_with_a_number_sign_that_is_no_part_keeps_its_name(
    treering: Treering, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    treering("add", papers / "lease.pdf")
    treering("add", "A talk about keys.", "--source", "lease.pdf#2")
    monkeypatch.chdir(papers)
    hits = records(treering("search", "keys", "--source", "lease.pdf#2", "--json"))
    assert [hit["text"] for hit in hits] == ["A talk about keys."]


@pytest.mark.parametrize("typed", ["papers/lease.pdf#9", "papers/lease.pdf#", "papers#2", "#2"])
def test_what_is_no_part_of_a_document_selects_nothing(
    treering: Treering, papers: Path, typed: str
) -> None:
    assert treering("add", papers).exit_code == 0
    assert "nothing to forget" in treering("forget", "--source", typed, "--yes").stderr
