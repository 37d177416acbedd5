"""Runs for a GPU are commands that treering has, with options that these have."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from test_documented_commands import parse
from treering_bench.gpu_runs import RUNS, commands, main, program

PLACES = {"data": "data", "sources": "code", "model": "m.gguf", "llm": "http://h/v1#m", "out": "o"}


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("run", RUNS)
def test_every_command_can_be_given_and_none_writes_over_what_another_wrote(
    run: str, small: bool
) -> None:
    lines = list(commands(run, PLACES, small=small))
    written = [line[line.index("--out") + 1] for line in lines]
    assert len(set(written)) == len(written)
    for line in lines:
        assert "{" not in "".join(line)
        if program(line) == "treering_bench":
            assert parse(shlex.join(["treering-bench", *line]))


def test_the_first_command_that_fails_ends_the_run_and_is_noted(tmp_path: Path) -> None:
    out = tmp_path / "out"
    places = ("--data", str(tmp_path / "nowhere"), "--model", "m.gguf", "--out", str(out))
    assert main(["g1", *places, "--small"]) == 2
    assert (out / "seconds.jsonl").read_text("utf-8").count('"run": "g1"') == 1


def test_what_would_be_run_can_be_read_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ("--data", "d", "--model", "m.gguf", "--out", str(tmp_path))
    assert main(["g4", *places, "--llm", "http://gpu/v1#m", "--print"]) == 0
    assert capsys.readouterr().err.count("--llm 'http://gpu/v1#m' --replies") == 2
    assert list(tmp_path.iterdir()) == []
