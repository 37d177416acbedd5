"""``treering tune`` as it is typed: rows from a user's dialogues, and what cannot be tuned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.tune.talk import all_dialogues, dialogue
from treering.cli.main import app


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
    assert "6 rows in" in run("rows", talks, "--out", out, "--count", "2")
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [row["type"] for row in rows][:3] == [
        "writing_joined",
        "retrieval_joined",
        "chatting_joined",
    ]


def test_dialogues_are_kept_apart_from_test_rows_and_can_be_joined_anew(
    talks: Path, tmp_path: Path
) -> None:
    tested = tmp_path / "test.jsonl"
    line = dialogue("boats")["messages"][0]["content"]
    row = {"type": "retrieval_x", "text": f"(line 1) user: {line}", "answer": "1"}
    tested.write_text(json.dumps(row) + "\n", "utf-8")
    out = tmp_path / "rows.jsonl"
    options = ("--task", "writing", "--wording", "printed", "--apart", tested, "--rejoin")
    assert "1 dialogue left out" in run("rows", talks, "--out", out, *options)
    written = out.read_text("utf-8")
    assert "boats" not in written
    assert "Task Introduction" in written


def test_a_file_of_another_form_and_a_model_elsewhere_are_refused(
    talks: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n', "utf-8")
    told = run("rows", tmp_path / "other.jsonl", "--out", out, code=2)
    assert "row 1: the fields are 'a'" in told
    assert "give --llm FILE.gguf" in run("memos", talks, "--out", out, code=2)
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
