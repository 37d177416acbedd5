"""The page for those who write a view of their own: its example, installed, does what it says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks
from tests.plugins import install


def examples(language: str) -> list[str]:
    page = blocks(DOCS / "how-to" / "views.md")
    return [block.text for block in page if block.language == language]


def test_the_example_of_the_page_is_a_view_of_every_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    view, usage = examples("python")
    [entry_point] = re.findall(r'^(\w+ = )"(.*)"$', examples("toml")[0], re.MULTILINE)
    install(monkeypatch, tmp_path, "shouting", view, f"[treering.views]\n{''.join(entry_point)}\n")
    monkeypatch.chdir(tmp_path)
    try:
        exec(usage, {})
    finally:
        sys.modules.pop("shouting", None)
    assert capsys.readouterr().out.split("\n") == ["it was shouted", "2", "()", ""]
