"""``treering tune`` as it is typed: rows from a user's dialogues, and what cannot be tuned."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests import programs
from tests.tune.talk import all_dialogues, dialogue
from treering.cli.main import app

ROOT = Path(__file__).parents[2]


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    path = tmp_path / "talks.json"
    path.write_text(json.dumps(all_dialogues()), "utf-8")
    return path


def run(*arguments: str | Path, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["tune", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def test_rows_are_written_from_a_users_own_dialogues(talks: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    assert "4 rows in" in run("rows", talks, "--out", out, "--count", "2")
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [row["type"] for row in rows][:2] == ["writing_joined", "retrieval_joined"]


def test_dialogues_are_kept_apart_from_test_rows_and_can_be_joined_anew(
    talks: Path, tmp_path: Path
) -> None:
    tested = tmp_path / "test.jsonl"
    line = dialogue("boats")["messages"][0]["content"]
    row = {"type": "retrieval_x", "text": f"(line 1) user: {line}", "answer": "1"}
    tested.write_text(json.dumps(row) + "\n", "utf-8")
    out = tmp_path / "rows.jsonl"
    options = ("--task", "writing", "--wording", "printed", "--apart", tested, "--rejoin")
    assert "1 dialogue left out by --apart" in run("rows", talks, "--out", out, *options)
    written = out.read_text("utf-8")
    assert "boats" not in written
    assert "Task Introduction" in written


def short_talks(path: Path, count: int) -> Path:
    """Dialogues none of whose lines is long."""
    rows = [
        {
            "messages": [
                {"role": role, "content": f"{text} {number}."}
                for text in ("Hello", "Well")
                for role in ("user", "assistant")
            ],
            "topic": f"topic {number}",
        }
        for number in range(count)
    ]
    path.write_text(json.dumps(rows), "utf-8")
    return path


def test_how_many_were_left_out_is_told_even_if_it_is_none_or_all(
    talks: Path, tmp_path: Path
) -> None:
    short = short_talks(tmp_path / "short.json", 7)
    out = tmp_path / "rows.jsonl"
    told = run("rows", short, "--out", out, "--apart", short, code=2)
    assert "7 dialogues left out by --apart" in told
    assert "topics: 0" in told
    assert not out.exists()
    options = ("--count", "1", "--out", out, "--apart", short)
    assert "0 dialogues left out" in run("rows", talks, *options)
    result = CliRunner().invoke(
        app, ["--json", "tune", "rows", str(talks), str(short), *map(str, options)]
    )
    assert json.loads(result.stdout) == {
        "rows": 2,
        "distinct": 2,
        "dialogues": 10,
        "left_out": 7,
    }


def test_how_many_rows_are_distinct_is_told_where_some_are_repeated(tmp_path: Path) -> None:
    short = short_talks(tmp_path / "short.json", 7)
    out = tmp_path / "rows.jsonl"
    told = run("rows", short, "--out", out, "--count", "300", "--task", "writing")
    distinct = len(set(out.read_text("utf-8").splitlines()))
    assert distinct < 300
    assert f"300 rows, {distinct} of them distinct, in " in told
    assert "give more dialogues, or a lower --count" in told


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--help"], 0, "Teach a small model"),
        (["rows", "--help"], 0, "Make instruction rows"),
        (["rows", "talks.json", "--out", "rows.jsonl", "--count", "1"], 0, "2 rows in"),
        (
            ["memos", "rows.jsonl", "--out", "a.gguf", "--llm", "m.gguf"],
            1,
            "gguf is not installed; run: pip install 'treering[tune]'",
        ),
    ],
)
def test_without_the_extra_rows_are_made_and_the_rest_names_what_installs_it(
    talks: Path, tmp_path: Path, arguments: list[str], code: int, told: str
) -> None:
    row = {"type": "writing_x", "text": "asked", "answer": "expected"}
    if arguments[0] == "memos":
        (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
        (tmp_path / "m.gguf").write_bytes(b"GGUF")
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['gguf', 'torch', 'peft', 'transformers']))\n"
        f"from treering.cli.main import app; app({['tune', *arguments]!r})"
    )
    done = programs.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert told in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_of_another_form_and_a_model_elsewhere_are_refused(
    talks: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n', "utf-8")
    told = run("rows", tmp_path / "other.jsonl", "--out", out, code=2)
    assert "row 1: the fields are 'a'" in told
    told = run("memos", talks, "--out", out, code=2)
    assert "no model is named; give --llm FILE.gguf" in told
    told = run("memos", talks, "--out", out, "--llm", tmp_path / "m.gguf", code=2)
    assert "holds 0 instruction rows, none of writing or retrieval" in told
    assert not out.exists()
    row = {"type": "writing_x", "conversations": ["a", "b"]}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    told = run("memos", tmp_path / "rows.jsonl", "--out", out, "--llm", "m.gguf", code=2)
    assert "holds 0 instruction rows" in told


def test_what_is_read_is_not_written_over(talks: Path, tmp_path: Path) -> None:
    before = talks.read_bytes()
    assert "written over what is read" in run("rows", talks, "--out", talks, code=2)
    tested = tmp_path / "test.jsonl"
    tested.write_text("", "utf-8")
    run("rows", talks, "--apart", tested, "--out", tested, code=2)
    run("memos", talks, "--out", talks, "--llm", tmp_path / "m.gguf", code=2)
    told = run("memos", talks, "--out", "o", "--checkpoint", talks, "--llm", "m.gguf", code=2)
    assert "written over what is read" in told
    assert talks.read_bytes() == before
    assert tested.read_bytes() == b""
