"""Commands that pages name can be given, and every experiment of the papers has one."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from treering_bench.cli import COMMANDS, app
from treering_bench.options import RunOptions
from treering_bench.paper import EXPERIMENTS, PAPERS, Places, program
from treering_bench.policy.registry import policies
from treering_bench.registry import Benchmark, benchmark
from worlds import Bench

ROOT = Path(__file__).parents[2]
README = ROOT / "benchmarks" / "README.md"
PAGES = (README, ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
LINE = re.compile(r"`(treering-bench [^`]+)`|^(treering-bench .*)$", re.MULTILINE)
COMMAND: Any = typer.main.get_command(app)


def parse(arguments: list[str]) -> Any:
    """The context of a command. Raise typer's error for an option that it does not have."""
    command = COMMAND
    with typer.Context(command) as context:
        while arguments and hasattr(command, "list_commands"):
            name = arguments.pop(0)
            assert name in command.list_commands(context), name
            command = command.get_command(context, name)
            command = command.load() if hasattr(command, "load") else command
        if hasattr(command, "list_commands"):
            return context
        try:
            return command.make_context(command.name, arguments)
        except Exception as error:
            if type(error).__name__ == "MissingParameter":  # a page may leave some out
                return error
            raise


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_pages_have_the_options_that_they_are_given(page: Path) -> None:
    for inline, line in LINE.findall(page.read_text("utf-8")):
        words = shlex.split(" ".join((inline or line).replace("…", "").split()), comments=True)
        assert parse(words[1:]), page


def test_every_paper_has_the_experiments_of_its_tables_and_figures() -> None:
    counts = dict.fromkeys(PAPERS.values(), 0) | {"": 0}
    for experiment in EXPERIMENTS.values():
        counts[experiment.paper] += 1
    assert counts == {"FragRel": 5, "MemTree": 10, "MemoChat": 6, "CodeMEM": 6, "": 5}
    whole = [one for one in EXPERIMENTS.values() if one.paper and not one.missing]
    assert len(whole) >= 20


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_dry_form_prints_commands_that_can_be_given(bench: Bench, name: str) -> None:
    whole = bench("paper", name, "--dry", "--minutes", 13, "--out", "a folder")
    small = bench("paper", name, "--dry", "--limit", 2)
    assert whole.exit_code == small.exit_code == 0, whole.output
    commands = [shlex.split(line) for line in (whole.stdout + small.stdout).splitlines()]
    assert commands
    for given, *arguments in commands:
        assert not re.search("[{}]", "".join(arguments))
        if given == "treering-bench":
            context = parse([*arguments])
            assert not isinstance(context, Exception)
            if arguments[0] == "run":
                check_run(context.params)


def check_run(params: dict[str, Any]) -> None:
    """The policies and options of a run are those of its kind of benchmark."""
    found = benchmark(params["name"])
    options = RunOptions(**{name: params[name] for name in RunOptions.__slots__})
    if isinstance(found, Benchmark) and (not options.llm or "memos" not in found.answer_plan):
        model: Any = "a model"
        assert policies(options.policy or [], 0, model, model if options.summaries else None)


def test_an_experiment_runs_its_commands_until_one_fails_and_notes_the_time(
    bench: Bench, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    places = ("--data", tmp_path / "nowhere", "--out", out, "--llm", "m.gguf")
    assert bench("paper", "memtree-appendix-b", "g1", *places).exit_code == 2
    [noted] = (out / "seconds.jsonl").read_text("utf-8").splitlines()
    assert json.loads(noted)["experiment"] == "memtree-appendix-b"
    assert json.loads(noted)["exit"] == 2
    assert bench("paper", "g1", *places, "--minutes", 0).exit_code == 0  # no time for any command
    assert len((out / "seconds.jsonl").read_text("utf-8").splitlines()) == 1


def test_a_value_with_a_space_stays_one_argument() -> None:
    [command] = EXPERIMENTS["codemem-figure-3"].filled(Places(data="my data", out="o"))
    assert "my data/codeif_bench" in command
    assert program(command) == "treering_bench"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0
