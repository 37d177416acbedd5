"""The figures in the documentation are those of the committed results."""

import gzip
import json
import subprocess
from pathlib import Path

import pytest

from tools.document_results import PAGES, RESULTS, ROOT, document, tables
from treering_bench.perf import report as speed
from treering_bench.perf.run import OPERATIONS

FILES = sorted(
    (
        *RESULTS.glob("memos/*.json"),
        *RESULTS.glob("trees/*.json"),
        *RESULTS.glob("compression/*.json"),
        *RESULTS.rglob("*.jsonl"),
        *RESULTS.rglob("*.jsonl.gz"),
    )
)


@pytest.mark.parametrize("page", PAGES)
def test_the_published_tables_are_made_of_the_committed_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text == document(page, text), "run: python -m tools.document_results"


@pytest.mark.parametrize("page", PAGES)
def test_every_table_there_is_has_its_place_on_the_page(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert not [name for name in tables(page) if f"<!-- {name} -->" not in text]


def test_make_bench_compares_every_operation_with_committed_ratios() -> None:
    baseline = RESULTS / "perf" / "baseline"
    assert f"--against {baseline.relative_to(ROOT)}" in (ROOT / "Makefile").read_text("utf-8")
    assert {name for name, _ in speed.usual(baseline).done} == set(OPERATIONS)


def commit_of(file: Path) -> str:
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as lines:
        return str(json.loads(next(lines))["commit"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_committed_results_are_of_a_clean_checkout(file: Path) -> None:
    commit = commit_of(file)
    assert len(commit) == 40, f"{file.name} was measured at {commit}"


def test_committed_results_are_of_commits_that_are_in_the_history() -> None:
    git = ("git", "-C", str(ROOT))
    shallow = subprocess.run((*git, "rev-parse", "--is-shallow-repository"), capture_output=True)
    if shallow.stdout.strip() != b"false":
        pytest.skip("the history is not here")
    known = subprocess.run((*git, "rev-list", "HEAD"), capture_output=True, check=True, text=True)
    assert {commit_of(file) for file in FILES} <= set(known.stdout.split())
