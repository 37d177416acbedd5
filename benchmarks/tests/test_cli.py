"""``treering-bench``: runs end with one object, errors with the exit codes of ``treering``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from test_code import codeif
from test_forgetting import KEPT, PLAIN, dialogue
from tests.code.repositories import SHOP
from treering.cli.failures import FOUND
from treering_bench.results import read
from worlds import Bench, lines, write

pytestmark = pytest.mark.usefixtures("bundled_model")

STORY = {
    "story": "fox",
    "sections": [
        {"section": "1", "text": "A fox lived under the old oak."},
        {"section": "2", "text": "In winter the river froze."},
    ],
}
ASKED = {
    "story": "fox",
    "question_id": "1",
    "question": "Who lived under the oak?",
    "answers": ["a fox"],
    "gold_sections": ["1"],
    "local_or_sum": "local",
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(tmp_path / "fairy" / "stories.jsonl", lines(STORY))
    write(tmp_path / "fairy" / "questions.jsonl", lines(ASKED))
    return tmp_path / "fairy"


def test_a_run_ends_with_one_object_after_its_tables_and_can_be_reported(
    bench: Bench, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "r.jsonl"
    run = ("run", "fairytaleqa", "--data", data, "--policy", "dense", "--out", out, "--shown")
    assert "| dense | 1 | 100.0" in bench(*run).stdout
    found = bench.object(*run, "--json")
    assert found["policies"]["dense"]["recall@5"] == found["policies"]["dense"]["all@5"] == 1.0
    assert read(out)[0].data_sha256 == found["data_sha256"]
    assert "### FairytaleQA" in bench("report", out).stdout
    assert "| dense | 1 | 100.0 | 100.0 | +0.0" in bench("report", out, "--against", out).stdout
    case = bench("report", out, "--cases", 1).stdout
    assert "A fox lived under the old oak." in case
    assert "Who lived under the oak?" in case


def test_a_run_with_a_model_answers_and_goes_on_with_what_was_written(
    bench: Bench, data: Path, tmp_path: Path
) -> None:
    run = ("run", "fairytaleqa", "--data", data, "--out", tmp_path / "r.jsonl", "--json")
    found = bench.object(*run, *bench.model("A fox."), "--policy", "dense", "--temperature", 1)
    assert (found["level"], found["policies"]["dense"]["exact_match"]) == ("answers", 1.0)
    assert read(tmp_path / "r.jsonl")[0].settings["temperature"] == 1.0
    (tmp_path / "r.jsonl").unlink()
    rated = (*run, "--policy", "memory-stream+rated", "--replies", tmp_path / "kept.jsonl")
    spec = bench.model("5\n" * 9)[1]
    first = bench.object(*rated, "--summaries", spec)
    (tmp_path / "r.jsonl").unlink()
    write(tmp_path / "script", "")
    assert bench.object(*rated, "--summaries", spec) == first


@pytest.mark.parametrize("name", ["locomo", "lihua-world"])
@pytest.mark.parametrize("row", [{"foo": 1}, 5])
def test_data_of_another_form_is_refused_by_name(
    bench: Bench, tmp_path: Path, name: str, row: object
) -> None:
    path = write(tmp_path / "bad.json", [row])
    message = bench.refused("run", name, "--data", path, "--out", tmp_path / "r.jsonl")
    assert re.search(rf"bad\.json is not .* {name} .*-bench data {name}`", message)


@pytest.mark.parametrize(("name", "option"), [("repoeval", "judge"), ("locomo", "sources")])
def test_an_option_that_a_benchmark_has_no_use_for_is_refused(
    bench: Bench, tmp_path: Path, name: str, option: str
) -> None:
    message = bench.refused("run", name, "--data", tmp_path, f"--{option}", "x")
    assert f"has no use for --{option}" in message


@pytest.mark.parametrize("content", [b"[1]", b'"text"', b"5", b"\xff\xfe\x00", b"SQLite format 3"])
def test_a_file_that_holds_no_results_is_refused(
    bench: Bench, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    assert "x.jsonl" in bench.refused("report", path)


def test_a_code_benchmark_finds_its_sources_beside_its_tasks(bench: Bench, tmp_path: Path) -> None:
    for path, text in SHOP.items():
        write(tmp_path / "sources" / "shop" / path, text)
    write(tmp_path / "l2.jsonl", lines(codeif()))
    run = ("run", "codeif-bench", "--data", tmp_path / "l2.jsonl", "--out", tmp_path / "r.jsonl")
    found = bench.object(*run, "--policy", "lexical", "--json")
    assert (found["level"], found["tasks"], found["left_out"]) == ("retrieval", 1, 0)
    assert found["policies"]["lexical"]["recall@10"] == 1.0
    assert "### CodeIF-Bench" in bench("report", tmp_path / "r.jsonl").stdout


def test_forgetting_ends_with_the_figures_of_rounds_and_requirements(
    bench: Bench, tmp_path: Path
) -> None:
    recording = [dialogue("one", 1, KEPT), dialogue("two", 1, PLAIN), dialogue("two", 2, KEPT)]
    data, out = write(tmp_path / "d.jsonl", lines(*recording)), tmp_path / "r.json"
    found = bench.object("forgetting", "--data", data, "--json", "--out", out)
    for level in ("round", "requirement"):
        assert {"precision", "recall", "f1"} <= set(found[level])
    assert found["rounds"] == 6
    assert json.loads(out.read_text()) == found
    assert bench.object("forgetting", "--data", data, "--json", "--limit", 1)["rounds"] == 2


def test_perf_saves_and_fails_when_a_ratio_got_worse(bench: Bench, tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl"
    arguments = ("perf", "--max-n", 1000, "--operation", "code")
    found = bench.object(*arguments, "--out", out, "--json")
    assert set(found["ratios"]["code"]["1000"]) == {"limit", "treering"}
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    fast = [row | {"ratio": 1e-9} if row.get("system") == "treering" else row for row in rows]
    result = bench(*arguments, "--against", write(tmp_path / "again.jsonl", lines(*fast)))
    assert result.exit_code == FOUND
    assert "slower: code at 1,000" in result.stdout


def test_the_help_imports_no_numerics_and_nothing_that_measures() -> None:
    program = (
        "import sys; from treering_bench.cli import app;"
        "app(['--help'], standalone_mode=False);"
        "loaded = {'numpy', 'treering.memory', 'treering_bench.runner'} & set(sys.modules);"
        "assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
