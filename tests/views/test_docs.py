"""The page for those who write a view of their own: its example, installed, does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import entry_points, examples
from tests.plugins import install

PAGE = "how-to/relations.md"


def test_the_example_of_the_page_is_a_view_of_every_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    *_, view, usage = examples(PAGE, "python")
    install(monkeypatch, tmp_path, "shouting", view, entry_points(PAGE, 1))
    monkeypatch.chdir(tmp_path)
    exec(usage, {})
    assert capsys.readouterr().out.split("\n") == ["it was shouted", "2", "()", ""]
