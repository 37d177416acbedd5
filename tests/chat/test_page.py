"""The page on chats for users: its examples run, one after another, as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.embedders import HashingEmbedder
from treering import Memory
from treering.llm.scripted import FakeLLM

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "chat.md"
_EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)
_OPENED = 'memory = Memory.open("chat.db", llm="http://localhost:11434/v1#qwen2.5:7b")'
_SHOWN = re.compile(r"```\n(\[1\].*?)```", re.DOTALL)


def test_the_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text("utf-8")
    script = "\n".join(_EXAMPLE.findall(page))
    assert _OPENED in script
    llm = FakeLLM(["In Porto.", "A light coat."])
    with Memory.open("chat.db", embedder=HashingEmbedder(), llm=llm) as memory:
        exec(script.replace(_OPENED, ""), {"memory": memory})
    printed = capsys.readouterr().out
    assert "In Porto." in printed
    assert "A light coat." in printed
    [shown] = _SHOWN.findall(page)
    assert "superseded since 2026-05-03: I now live in Porto." in printed
    assert all(line in printed for line in shown.splitlines() if line.startswith("Ana:"))
