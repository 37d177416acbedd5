"""What holds of every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Treering, records
from tools.document_cli import MARK, commands, document

COMMANDS = dict(commands())


def test_every_command_and_option_has_a_help_text() -> None:
    for name, command in COMMANDS.items():
        assert command.help, name
        assert all("\n" not in part for part in command.help.split("\n\n")), name
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name}"


def test_the_page_of_the_command_line_is_up_to_date() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    assert page == document(page), "run: python -m tools.document_cli"
    reference = page.partition(MARK)[2]
    for name in COMMANDS:
        assert f"\n## `{name}`\n" in reference


def test_options_may_stand_before_or_after_the_command(treering: Treering, tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    assert treering("-m", one, "add", "words").exit_code == 0
    assert treering("-m", one, "add", "words", "-m", two).exit_code == 0
    assert one.exists()
    assert two.exists()
    assert treering("--json", "spaces", "-m", two).stdout == '{"space": "default"}\n'


def test_an_empty_option_is_refused_and_no_default_stands_for_it(treering: Treering) -> None:
    treering("add", "words")
    for option in ("--memory", "--space", "--embedder", "--llm"):
        for arguments in (("stats", option, ""), (option, "", "stats")):
            refused = treering(*arguments)
            assert refused.exit_code == 2
            assert refused.stdout == ""
            assert f"{option}: it is empty" in " ".join(refused.stderr.split())


def test_without_a_path_a_memory_in_the_current_folder_is_taken(
    treering: Treering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREERING_MEMORY")
    assert treering("add", "words", "-m", "treering.db").exit_code == 0
    assert records(treering("list", "--json"))[0]["text"] == "words"
    assert treering("add", "more words").exit_code == 0
    assert len(records(treering("list", "--json", "-m", tmp_path / "treering.db"))) == 2


def test_commands_that_only_read_make_no_memory(treering: Treering, tmp_path: Path) -> None:
    cases = [
        *(["search", "x"], ["context", "x"], ["ask", "x"], ["list"], ["show", "x"], ["settle"]),
        *(["forget", "x"], ["fit"], ["reembed", "hashing"], ["export"], ["stats"], ["spaces"]),
        ["replace", "x", "y"],
    ]
    for command in cases:
        result = treering(*command)
        assert result.exit_code == 2
        assert "treering add" in result.stderr
        assert list(tmp_path.iterdir()) == []


def test_the_version_is_told(treering: Treering) -> None:
    import treering as package

    assert treering("--version").stdout == f"{package.__version__}\n"
