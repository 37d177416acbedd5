"""Commands, options, methods and keywords that pages name exist."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, get_type_hints

import typer

from tests.docs.pages import DOCS, ROOT, blocks
from tools.document_cli import commands as every_command
from treering import Memory
from treering.cli.main import app
from treering.views.code.memory import CodeMemory
from treering.views.facts.view import FactView
from treering.views.memos.view import MemoView
from treering.views.tree.view import TreeView

PAGES = (*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")))
HINTS = ROOT / "treering/hints.py"
VIEWS = {"facts": FactView, "memos": MemoView, "tree": TreeView, "code": CodeMemory}
ROOT_COMMAND: Any = typer.main.get_command(app)

_INLINE = re.compile(r"`([^`\n]+)`")
_BEFORE = re.compile(r"^(?:\$ )?(?:export )?(?:\w+=\$?\(?(?=treering )|(?:[A-Z_]+=\S+ )*)")
_OPERATORS = {"|", "<", ">", "&", "&&", ";"}
_OPTION = re.compile(r"--[\w-]+")
_CALL = re.compile(r"^memory\.(?:(?P<view>facts|memos|tree|code)\.)?(?P<name>\w+)\(.*\)$")


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of every treering command of a page, without ``treering``."""
    typed = [block.text for block in blocks(page) if block.language in ("console", "sh")]
    lines = "".join(typed).replace("\\\n", " ").splitlines()
    lines += _INLINE.findall(page.read_text("utf-8"))
    for line in lines:
        line = _BEFORE.sub("", line)
        if not line.startswith("treering "):
            continue
        words = shlex.split(line.removesuffix(")"), comments=True)
        for is_operator, part in groupby(words, _OPERATORS.__contains__):
            if not is_operator and (command := list(part))[0] == "treering":
                yield command[1:]


def unknown(words: list[str]) -> str | None:
    """Return the first word that should be a command or an option and is not."""
    command, options = ROOT_COMMAND, option_names(ROOT_COMMAND)
    for word in words:
        name = word.partition("=")[0]
        if name.startswith("-") and len(name) > 1:
            if name not in options | {"--help", "-h"}:
                return name
        elif hasattr(command, "list_commands") and not word.isupper():
            with typer.Context(command) as context:
                below = command.get_command(context, word)
            if below is None:
                # The value of an option, or the argument of a command that has others below it.
                if command is ROOT_COMMAND and words.index(word) == 0:
                    return word
                continue
            command = below.load() if hasattr(below, "load") else below
            options |= option_names(command)
    return None


def option_names(command: Any) -> set[str]:
    """Return the names of a command's options."""
    return {name for param in command.params for name in (*param.opts, *param.secondary_opts)}


def test_every_command_and_option_of_a_page_exists() -> None:
    for page in PAGES:
        wrong = {" ".join(words): word for words in commands(page) if (word := unknown(words))}
        assert wrong == {}


def test_every_option_that_a_page_names_alone_exists() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        known = option_names(ROOT_COMMAND).union(*(option_names(one) for _, one in every_command()))
        named = {found[0] for code in _INLINE.findall(text) if (found := _OPTION.match(code))}
        assert "treering-bench" in text or named <= known


def test_every_method_and_keyword_of_a_page_exists() -> None:
    for page in (*PAGES, HINTS):
        wrong = []
        for code in _INLINE.findall(page.read_text("utf-8").replace("!r}", "}")):
            if not (match := _CALL.match(code)):
                continue
            method = getattr(VIEWS.get(match["view"], Memory), match["name"], None)
            if method is None or keywords(code) - accepted(method):
                wrong.append(code)
        assert wrong == []


def keywords(code: str) -> set[str]:
    """Return the keywords of a call."""
    call = ast.parse(code, mode="eval").body
    assert isinstance(call, ast.Call)
    return {keyword.arg for keyword in call.keywords if keyword.arg}


def accepted(method: Any) -> set[str]:
    """Return the keywords that a method takes."""
    parameters = inspect.signature(method).parameters
    names = set(parameters)
    for one in parameters.values():
        if one.kind is one.VAR_KEYWORD:  # Unpack[a TypedDict of the method's module]
            options = vars(inspect.getmodule(method))[str(one.annotation)[len("Unpack[") : -1]]
            names |= set(get_type_hints(options))
    return names


def test_the_page_and_the_help_name_the_same_commands_for_exit_code_6() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    [row] = re.findall(r"^\| 6 \| (.*) \|$", page, re.MULTILINE)
    [told] = re.findall(r"6 a check found something \((.*?)\)", str(app.info.epilog))
    assert set(re.findall("`(.*?)`", row)) == set(told.split(", "))


def test_a_command_that_does_not_exist_is_noticed() -> None:
    assert unknown(["remember", "x"]) == "remember"
    assert unknown(["search", "x", "--gone"]) == "--gone"
    assert unknown(["code", "check", "--staged", "-m", "FILE"]) is None
