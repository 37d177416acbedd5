import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from test_coding import codeif
from test_forgetting import KEPT, PLAIN, dialogue
from test_suites import lines, write
from tests.code.repositories import SHOP
from treering.cli.failures import FOUND, INPUT
from treering.llm.scripted import ScriptedLLM
from treering_bench import cli as bench
from treering_bench.cli import generated, quality
from treering_bench.results import read

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
    folder = tmp_path / "fairy"
    folder.mkdir()
    (folder / "stories.jsonl").write_text(json.dumps(STORY) + "\n", encoding="utf-8")
    (folder / "questions.jsonl").write_text(json.dumps(ASKED) + "\n", encoding="utf-8")
    return folder


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(bench.app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object) -> str:
    """The message of a command that is not run."""
    result = CliRunner().invoke(bench.app, [str(a) for a in arguments])
    assert result.exit_code == INPUT, result.output
    return " ".join(result.stderr.split())


def last_object(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def test_run_ends_with_one_json_object_after_its_tables(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    output = invoke("run", "fairytaleqa", "--data", data, "--policy", "dense", "--out", out)
    assert "| dense | 1 | 100.0" in output
    found = last_object(output)
    assert found["benchmark"] == "fairytaleqa"
    assert found["policies"]["dense"]["recall@5"] == 1.0
    assert read(out)[0].data_sha256 == found["data_sha256"]


@pytest.mark.parametrize("name", ["locomo", "lihua-world"])
@pytest.mark.parametrize("row", [{"foo": 1}, 5])
def test_data_of_another_form_is_refused_by_name(tmp_path: Path, name: str, row: object) -> None:
    path = write(tmp_path / "bad.json", json.dumps([row]))
    arguments = ["run", name, "--data", str(path), "--out", str(tmp_path / "r.jsonl")]
    assert re.search(rf"bad\.json is not .* {name} .*-bench data {name}`", refused(*arguments))


def test_run_with_a_model_answers(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    llm, out = ScriptedLLM(["A fox."]), tmp_path / "r.jsonl"
    quality.run("fairytaleqa", data, ["dense"], out, llm=llm, temperature=1.0)  # type: ignore[arg-type]
    found = last_object(capsys.readouterr().out)
    assert found["level"] == "answers"
    assert found["policies"]["dense"]["exact_match"] == 1.0
    assert read(out)[0].settings["temperature"] == 1.0
    assert llm.closed


def test_what_a_model_writes_for_a_memory_is_kept_for_a_run_that_goes_on(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.jsonl"
    first, again = ScriptedLLM(["5"] * 9), ScriptedLLM([])
    for llm in (first, again):
        quality.run("fairytaleqa", data, ["memory-stream+rated"], out, summaries=llm)  # type: ignore[arg-type]
        assert last_object(capsys.readouterr().out)["policies"]["memory-stream+rated"]["n"] > 0
        out.write_text(out.read_text().splitlines()[0] + "\n")  # cut short before its first line
    kept = (tmp_path / "r.replies.jsonl").read_text().splitlines()
    assert 0 < len(kept) == len(first.requests)


def test_a_code_benchmark_finds_its_sources_beside_its_tasks(tmp_path: Path) -> None:
    for path, text in SHOP.items():
        write(tmp_path / "sources" / "shop" / path, text)
    write(tmp_path / "l2.jsonl", lines(codeif()))
    out = tmp_path / "r.jsonl"
    arguments = ("run", "codeif-bench", "--data", tmp_path / "l2.jsonl", "--out", out)
    found = last_object(invoke(*arguments, "--policy", "lexical", "--json"))
    assert (found["level"], found["tasks"], found["left_out"]) == ("retrieval", 1, 0)
    assert found["policies"]["lexical"]["recall@10"] == 1.0
    assert "### CodeIF-Bench" in invoke("report", out)


def test_forgetting_ends_with_the_figures_of_rounds_and_requirements(tmp_path: Path) -> None:
    recording = [dialogue("one", 1, KEPT), dialogue("two", 1, PLAIN), dialogue("two", 2, KEPT)]
    data, out = write(tmp_path / "d.jsonl", lines(*recording)), tmp_path / "r.json"
    arguments = ("code", "forgetting", "--data", data, "--json")
    found = last_object(invoke(*arguments, "--out", out))
    for level in ("round", "requirement"):
        assert {"precision", "recall", "f1"} <= set(found[level])
    assert found["rounds"] == 6
    assert json.loads(out.read_text()) == found
    alone = last_object(invoke(*arguments, "--limit", 1))
    assert alone["rounds"] == 2


@pytest.mark.parametrize(
    ("name", "option"),
    [("repoeval", "--judge"), ("locomo", "--sources")],
)
def test_an_option_that_a_benchmark_has_no_use_for_is_refused(
    tmp_path: Path, name: str, option: str
) -> None:
    assert re.search(
        f"{name} takes no {option}", refused("run", name, "--data", tmp_path, option, "x")
    )


@pytest.mark.parametrize("content", [b"[1]", b'"text"', b"5", b"\xff\xfe\x00", b"SQLite format 3"])
def test_a_file_that_holds_no_results_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    assert re.search(r"x\.jsonl", refused("report", path))


def test_perf_saves_and_fails_when_a_ratio_got_worse(tmp_path: Path) -> None:
    out, again = tmp_path / "t.jsonl", tmp_path / "again.jsonl"
    arguments = ("perf", "--max-n", 1000, "--operation", "text")
    found = last_object(invoke(*arguments, "--out", out, "--json"))
    assert set(found["ratios"]["text"]["1000"]) == {"limit", "treering"}
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    fast = [row | {"ratio": 1e-9} if row.get("system") == "treering" else row for row in rows]
    write(again, lines(*fast))
    result = CliRunner().invoke(bench.app, [*map(str, arguments), "--against", str(again)])
    assert result.exit_code == FOUND
    assert "slower: text at 1,000" in result.stdout
    assert last_object(result.stdout)["slower"]


def test_report_renders_and_compares(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    invoke("run", "fairytaleqa", "--data", data, "--policy", "dense", "--out", out)
    assert "### FairytaleQA" in invoke("report", out)
    assert "| dense | 1 | 100.0 | 100.0 | +0.0" in invoke("report", out, "--against", out)


def test_extend_and_questions_write_json_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = tmp_path / "chat.jsonl"
    turns = [{"name": "Alex", "content": "Hi!"}, {"name": "Bob", "content": "Hello."}]
    chat.write_text("".join(json.dumps(turn) + "\n" for turn in turns), encoding="utf-8")
    pairs = [{"question": "Who?", "response": "Alex"}]
    llm = ScriptedLLM(["Alex: A.\nBob: B.", json.dumps(pairs)])
    generated.extend(chat, rounds=2, llm=llm)  # type: ignore[arg-type]
    extended = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["name"] for line in extended] == ["Alex", "Bob"]
    generated.questions(chat, count=1, llm=llm)  # type: ignore[arg-type]
    assert last_object(capsys.readouterr().out) == pairs[0]


def test_the_help_of_bench_imports_no_numerics_and_nothing_that_measures() -> None:
    program = (
        "import sys; from treering_bench.cli import app;"
        "app(['--help'], standalone_mode=False);"
        "loaded = {'numpy', 'treering.memory', 'treering_bench.run'} & set(sys.modules);"
        "assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
