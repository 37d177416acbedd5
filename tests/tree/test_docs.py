from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS, blocks


def test_the_examples_of_the_page_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = blocks(DOCS / "how-to" / "tree.md")
    names: dict[str, Any] = {}
    exec("\n".join(block.text for block in page if block.language == "python"), names)
    names["memory"].close()
    assert "[2] Ana sold the old boat" in capsys.readouterr().out
