"""Commands that pages name can be given, and every experiment of the papers has one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from treering_bench.cli import COMMANDS, app

ROOT = Path(__file__).parents[2]
README = ROOT / "benchmarks" / "README.md"
PAGES = (README, ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
LINE = re.compile(r"`(treering-bench [^`]+)`|^(treering-bench .*)$", re.MULTILINE)
COMMAND: Any = typer.main.get_command(app)

EXPERIMENTS = {
    "FragRel": {"story QA", "code completion, RepoCoder, oracle", "chat", "α and w"},
    "MemTree": {
        *("MSC", "MSC-E, longer chats", "MSC-E, questions", "QuALITY", "MultiHop-RAG"),
        *("θ0, λ, k, traversal", "compression", "depth, odd one out, revenue and OTD"),
    },
    "MemoChat": {
        *("writing, choosing, responding", "MT-Bench+, the bot's turns"),
        *("MT-Bench+ with the judge", "rounds that are shown", "tuning, before and after"),
    },
    "CodeMEM": {
        *("CodeIF-Bench", "CoderEval's rounds", "CoderEval, retrieval", "context by round"),
        "forgetting",
    },
}


def experiments() -> dict[str, str]:
    """The command of each experiment of the papers."""
    table = README.read_text("utf-8").split("<!-- experiments -->")[1].split("<!-- /")[0]
    rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()[2:]]
    return {name: command.strip("`") for name, command in rows}


def parse(line: str) -> Any:
    """The context of a command. Raises typer's error for an option that it does not have."""
    arguments = shlex.split(line, comments=True)[1:]
    command = COMMAND
    with typer.Context(command) as context:
        while arguments and hasattr(command, "list_commands"):
            name = arguments.pop(0)
            assert name in command.list_commands(context), line
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


def test_commands_of_pages_have_the_options_that_they_are_given() -> None:
    for page in PAGES:
        for inline, line in LINE.findall(page.read_text("utf-8")):
            assert parse(" ".join((inline or line).replace("…", "").split())), page


def test_every_experiment_of_the_papers_has_a_command() -> None:
    named = {f"{paper}: {name}" for paper, names in EXPERIMENTS.items() for name in names}
    assert experiments().keys() == named
    for line in experiments().values():
        assert parse(line)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--help"])
    assert shown.exit_code == 0
