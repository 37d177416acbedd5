"""``treering tune`` on the command line: rows that are read, and inputs that are refused."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests import programs
from treering.cli.main import app
from treering.errors import InputError
from treering.tune.train import read_rows

ROOT = Path(__file__).parents[2]
ROW = {"type": "writing_x", "text": "asked", "answer": "expected"}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n\n{json.dumps(ROW)}\n", "utf-8")
    return path


def refused(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["tune", "memos", *map(str, arguments)])
    assert result.exit_code == 2, result.output
    return result.output


def test_a_row_is_a_text_and_its_answer(rows: Path) -> None:
    assert list(read_rows(rows)) == [("asked", "expected")] * 2


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "has no rows"),
        (b" \n", "has no rows"),
        (b"\xff", "is not UTF-8"),
        (b'{"text": "a", "answer": "b"}\n{', "line 2: not JSON"),
        (b"[" * 100_000, "line 1: not JSON"),
        (b"7", "line 1: no text with its answer"),
        (b'{"text": "a"}', "line 1: no text with its answer"),
        (b'{"text": 1, "answer": "b"}', "line 1: no text with its answer"),
    ],
)
def test_a_file_of_another_form_is_an_error_with_its_line(
    rows: Path, content: bytes, problem: str
) -> None:
    rows.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        list(read_rows(rows))


def test_a_missing_file_and_a_model_that_is_not_a_file_are_refused(
    rows: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert "give --llm FILE.gguf" in refused(rows, "--out", out)
    assert "give --llm FILE.gguf" in refused(rows, "--out", out, "--llm", "http://host/v1")
    absent = tmp_path / "absent"
    assert "cannot read" in refused(absent, "--out", out, "--llm", "m.gguf")
    assert not out.exists()


def test_a_file_of_rows_is_not_overwritten(rows: Path) -> None:
    before = rows.read_bytes()
    assert "written over what is read" in refused(rows, "--out", rows, "--llm", "m.gguf")
    options = ("--out", "o", "--checkpoint", rows, "--llm", "m.gguf")
    assert "written over what is read" in refused(rows, *options)
    assert rows.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["--help"], 0, "Teach a small model"),
        (["memos", "--help"], 0, "Train an adapter"),
        (
            ["memos", "rows.jsonl", "--out", "a.gguf", "--llm", "m.gguf"],
            1,
            "gguf is not installed; run: pip install 'treering[tune]'",
        ),
    ],
)
def test_the_missing_extra_is_named(
    rows: Path, arguments: list[str], code: int, shown: str
) -> None:
    (rows.parent / "m.gguf").write_bytes(b"GGUF")
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['gguf', 'torch', 'peft', 'transformers']))\n"
        f"from treering.cli.main import app; app({['tune', *arguments]!r})"
    )
    done = programs.run(
        [sys.executable, "-c", program],
        cwd=rows.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert shown in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
