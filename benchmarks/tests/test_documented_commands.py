"""Every `treering-bench …` that the pages name is there, with the options it is given there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from treering_bench.cli import app

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/**/*.md")))
GENERATED = "docs/reference/cli.md"  # from the commands themselves

_INLINE = re.compile(r"`(treering-bench [^`]+)`")
_LINE = re.compile(r"^(treering-bench .*)$", re.MULTILINE)
_FENCE = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ELLIPSIS = "…"
_A_NUMBER = "7"


ROOT_COMMAND: Any = typer.main.get_command(app)


def commands(page: Path) -> Iterator[str]:
    """The command lines of a page; within a sentence what is left out is not missed."""
    text = page.read_text(encoding="utf-8")
    for block in _FENCE.findall(text):
        yield from _LINE.findall(block)
    for inline in _INLINE.findall(_FENCE.sub("", text)):
        yield f"{' '.join(inline.split())} {_ELLIPSIS}"


def named() -> Iterator[Any]:
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        if name != GENERATED:
            for line in dict.fromkeys(commands(page)):
                yield pytest.param(line, id=f"{name}: {line}")


def parse(line: str) -> Any:
    """The command's context; an option that is not there is an error, or missing without ``…``."""
    words = shlex.split(line, comments=True)
    partly = _ELLIPSIS in words
    arguments = [_A_NUMBER if word == "N" else word for word in words[1:] if word != _ELLIPSIS]
    command = ROOT_COMMAND
    with typer.Context(command) as context:
        while hasattr(command, "list_commands"):
            name = arguments.pop(0) if arguments else ""
            there = command.list_commands(context)
            assert name in there, f"{name!r} is not one of {there}"
            command = command.get_command(context, name)
            command = command.load() if hasattr(command, "load") else command
            if not arguments and hasattr(command, "list_commands"):
                return context
        try:
            return command.make_context(name, arguments)
        except Exception as error:
            if partly and type(error).__name__ == "MissingParameter":
                return error
            raise


@pytest.mark.parametrize("line", list(named()))
def test_a_command_that_a_page_names_can_be_given(line: str) -> None:
    assert parse(line)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("treering-bench nothing", "'nothing' is not one of"),
        ("treering-bench run locomo --data x --colour red", "No such option: --colour"),
        ("treering-bench run locomo --colour red …", "No such option: --colour"),
        ("treering-bench run locomo --data x --limit many", "many|integer"),
        ("treering-bench chat needed --data x", "llm"),
    ],
)
def test_a_command_that_cannot_be_given_is_noticed(line: str, why: str) -> None:
    with pytest.raises(Exception, match=why):  # typer's own and an assertion have nothing in common
        parse(line)


def test_every_command_of_bench_is_on_the_page_about_measuring() -> None:
    page = (ROOT / "docs" / "figures" / "measuring.md").read_text(encoding="utf-8")
    text = " ".join(page.split())
    missing = [name for name in _all_commands() if f"treering-bench {name}" not in text]
    assert missing == []


def _all_commands() -> Iterator[str]:
    with typer.Context(ROOT_COMMAND) as context:
        bench = ROOT_COMMAND
        for name in bench.list_commands(context):
            command = bench.get_command(context, name).load()
            if hasattr(command, "list_commands"):
                yield from (f"{name} {below}" for below in command.list_commands(context))
            else:
                yield name


def test_the_help_of_bench_says_what_each_command_says_of_itself() -> None:
    with typer.Context(ROOT_COMMAND) as context:
        bench = ROOT_COMMAND
        for name in bench.list_commands(context):
            deferred = bench.get_command(context, name)
            assert deferred.help
            assert deferred.load().help
            assert "[default" not in _help_texts(deferred.load())  # rich takes it for markup


def _help_texts(command: Any) -> str:
    below = list(getattr(command, "commands", {}).values())
    options = [option.help or "" for option in command.params]
    return " ".join([*options, *map(_help_texts, below)])
