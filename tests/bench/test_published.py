"""The figures in the documentation are those of the committed results."""

from pathlib import Path

import pytest

from treering.bench.report import Scores, overview
from treering.bench.results import read

ROOT = Path(__file__).parents[2]
POLICIES = {
    "docs/measuring.md": (
        *("treering", "own", "fusion", "rank-fusion", "bm25", "dense"),
        *("memory-stream", "memory-bank"),
    ),
    "README.md": ("treering", "fusion", "rank-fusion", "bm25", "dense"),
}


@pytest.mark.parametrize("name", POLICIES)
def test_the_published_table_is_made_of_the_committed_results(name: str) -> None:
    files = sorted((ROOT / "benchmarks" / "results").glob("*.jsonl.gz"))
    table = overview([Scores.of(*read(file)) for file in files], POLICIES[name], "treering")
    page = (ROOT / name).read_text(encoding="utf-8")
    published = page.split("<!-- overview -->\n")[1].split("<!-- /overview -->")[0]
    assert published == table


def test_committed_results_are_of_a_clean_checkout() -> None:
    for file in (ROOT / "benchmarks" / "results").glob("*.jsonl.gz"):
        run, _ = read(file)
        assert len(run.commit) == 40, f"{file.name} was measured at {run.commit}"
