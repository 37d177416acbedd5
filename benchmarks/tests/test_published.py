"""The figures of the pages are those of the committed results."""

import gzip
import json
import subprocess
from pathlib import Path

import pytest

from tools.document_results import PAGES, RESULTS, ROOT, document
from tools.draw_pictures import FOLDER, PICTURES
from treering_bench.perf import report as speed
from treering_bench.perf.run import OPERATIONS


def test_the_tables_of_pages_are_made_of_the_committed_results() -> None:
    for page, tables in PAGES.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        assert text == document(page, text), "run: python -m tools.document_results"
        assert all(f"<!-- {name} -->" in text for name in tables)


@pytest.mark.parametrize("name", ["relations.svg", "cost.svg"])
def test_a_picture_shows_the_committed_results(name: str) -> None:
    drawn = (FOLDER / name).read_text(encoding="utf-8")
    assert drawn == PICTURES[name](), "run: python -m tools.draw_pictures"


def test_make_bench_compares_every_operation_with_committed_ratios() -> None:
    baseline = RESULTS / "perf" / "baseline"
    assert f"--against {baseline.relative_to(ROOT)}" in (ROOT / "Makefile").read_text("utf-8")
    assert {name for name, _ in speed.usual(baseline).done} >= set(OPERATIONS)


def commits_in(file: Path) -> set[str | None]:
    """The commits that a file of results names: in its first row, and perhaps in others."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as lines:
        first, *others = map(json.loads, lines)
    return {first.get("commit"), *(row["commit"] for row in others if "commit" in row)}


def test_committed_results_are_of_commits_in_the_history() -> None:
    git = ("git", "-C", str(ROOT))
    shallow = subprocess.run((*git, "rev-parse", "--is-shallow-repository"), capture_output=True)
    if shallow.stdout.strip() != b"false":
        pytest.skip("the history is not here")
    known = subprocess.run((*git, "rev-list", "HEAD"), capture_output=True, check=True, text=True)
    files = [file for file in RESULTS.rglob("*.json*") if "replies" not in file.name]
    strange = {file.name: commits_in(file) - {*known.stdout.split()} for file in files}
    assert {name: commits for name, commits in strange.items() if commits} == {}
