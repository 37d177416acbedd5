"""Pages hold the facts that people who run a server looked for."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from dataclasses import fields
from datetime import datetime
from typing import get_type_hints

import pytest
import typer

from tests.docs.pages import DOCS, ROOT, blocks
from treering import Memory, errors
from treering.cli.main import app
from treering.ingest.where import Where
from treering.records import Receipt

SERVE = DOCS / "how-to" / "serve.md"
REFERENCE = (DOCS / "reference" / "python.md").read_text("utf-8")
SETTINGS = (DOCS / "reference" / "settings.md").read_text("utf-8")


@pytest.fixture
def unit() -> configparser.ConfigParser:
    """Parse the systemd unit of the page."""
    [text] = [block.text for block in blocks(SERVE) if block.language == "ini"]
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    return parser


def test_the_service_starts_an_existing_command(unit: configparser.ConfigParser) -> None:
    program, name, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert program.endswith("/bin/treering")
    shell = typer.main.get_group(app)
    command = shell.get_command(typer.Context(shell), name)
    assert command is not None
    given = command.make_context(name, arguments).params
    folder = unit["Service"]["StateDirectory"]
    assert f"/var/lib/{folder}/life.db" in map(str, given.values())


def test_the_file_of_settings_holds_known_variables() -> None:
    section = SERVE.read_text("utf-8").partition("## Run it as a service")[2].partition("\n## ")[0]
    variables = re.findall("TREERING_[A-Z_]+", section)
    assert variables
    assert [name for name in variables if f"`{name}`" not in SETTINGS] == []


def test_pages_hold_the_facts_that_people_looked_for() -> None:
    cases = [
        ("SECURITY.md", "It is not encrypted"),
        ("docs/how-to/serve.md", "file is not encrypted"),
        ("docs/how-to/serve.md", "tested on Linux only"),
        ("docs/how-to/serve.md", "`--expires` ends a key"),
        ("docs/how-to/operations.md", "house.db-wal"),
        ("docs/how-to/operations.md", "## Upgrade"),
        ("docs/how-to/operations.md", "an older treering refuses a file that a newer one"),
        ("docs/how-to/memory.md", "## Correct an entry"),
        ("docs/how-to/memory.md", "## List what a memory knows"),
        ("docs/how-to/memory.md", "## A space for each user"),
        ("docs/how-to/memory.md", "### Delete a user"),
    ]
    for page, says in cases:
        assert says in " ".join((ROOT / page).read_text("utf-8").split())


def test_a_newcomer_finds_every_method_filter_and_error_in_the_reference() -> None:
    methods = [name for name in vars(Memory) if not name.startswith("_")]
    assert "import_" in methods
    missing = [name for name in methods if f"memory.{name}" not in REFERENCE]
    filters = REFERENCE.partition("\n## Filters\n")[2].partition("\n## ")[0]
    missing += [name for name in get_type_hints(Where) if f"\n{name}: " not in filters]
    tree = REFERENCE.partition("\n## Errors\n")[2]
    missing += [
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.TreeringError) and name not in tree
    ]
    assert missing == []
    assert "settle(progress: Progress" in REFERENCE
    assert "`progress` is a function" in REFERENCE


@pytest.mark.parametrize("given", ["2026", "2026-05", "2026-05-03T12:00:00Z", 1_780_000_000])
def test_a_time_may_have_the_documented_forms(memory: Memory, given: str | int) -> None:
    memory.add("The boiler was mended.", at=given)
    [entry] = memory.entries()
    assert isinstance(entry.at, datetime)
    assert entry.at.year == 2026


def test_the_answer_of_the_first_request_has_all_its_fields() -> None:
    page = (ROOT / "docs" / "how-to" / "serve.md").read_text("utf-8")
    found = re.search(r'^\{"ids":.*?\}$', page, re.MULTILINE | re.DOTALL)
    assert found is not None
    assert list(json.loads(found[0])) == [field.name for field in fields(Receipt)]


def test_the_page_and_the_help_name_the_same_commands_for_exit_code_6() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    [row] = re.findall(r"^\| 6 \| (.*) \|$", page, re.MULTILINE)
    [told] = re.findall(r"6 a check found something \((.*?)\)", str(app.info.epilog))
    assert set(re.findall("`(.*?)`", row)) == set(told.split(", "))
