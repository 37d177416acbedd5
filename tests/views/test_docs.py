"""The page for those who write a view of their own: its example, installed, does what it says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks

ENTRY_POINTS = "entry_points.txt"


def examples(language: str) -> list[str]:
    page = blocks(DOCS / "how-to" / "views.md")
    return [block.text for block in page if block.language == language]


def test_the_example_of_the_page_is_a_view_of_every_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    view, usage = examples("python")
    [entry_point] = re.findall(r'^(\w+ = )"(.*)"$', examples("toml")[0], re.MULTILINE)
    metadata = tmp_path / "shouting-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    (metadata / ENTRY_POINTS).write_text(f"[treering.views]\n{''.join(entry_point)}\n")
    (tmp_path / "shouting.py").write_text(view)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    try:
        exec(usage, {})
    finally:
        sys.modules.pop("shouting", None)
    assert capsys.readouterr().out.split("\n") == ["it was shouted", "2", "()", ""]
