from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.memo.talk import messages, place
from treering.cli.main import app
from treering.memory import Memory

pytestmark = pytest.mark.usefixtures("bundled_model")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "memory.db"
    with Memory.open(file) as memory:
        memory.add([dict(one, at=f"2026-01-{n + 1:02}") for n, one in enumerate(messages())])
        place(memory, "Ines in Porto", "The sister moved.", 0, 3)
        place(memory, "[red]boat", "The boat needs a sail.", 4, 7)
    return file


def run(path: Path, *arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["memo", "--memory", str(path), *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_memos_are_listed_with_topic_times_and_summary(path: Path) -> None:
    shown = run(path)
    assert "Ines in Porto  memo-ines  2026-01-01 to 2026-01-04  4 lines of chat, written" in shown
    assert "  The sister moved." in shown
    assert "[red]boat" in shown
    assert "Ines" not in run(path, "--topic", "boat")
    assert "no memo meets these conditions" in run(path, "--topic", "tea")


def test_a_memo_is_shown_with_its_lines(path: Path) -> None:
    assert "user: My sister Ines moved to Porto last week." in run(path, "show", "memo-ines")
    run(path, "show", "nobody", code=2)


def test_memos_are_edited_pinned_and_deleted(path: Path) -> None:
    assert "  Ines lives in Porto." in run(
        path, "edit", "memo-ines", "--summary", "Ines lives in Porto."
    )
    assert "* Ines in Porto" in run(path, "edit", "memo-ines", "--pin")
    assert "* Ines" not in run(path, "edit", "memo-ines", "--unpin")
    run(path, "edit", "memo-ines", "--delete")
    assert "Ines" not in run(path)


@pytest.mark.parametrize(
    "arguments",
    [("edit", "any"), ("edit", "any", "--delete", "--pin"), ("--about", "boat", "--topic", "boat")],
)
def test_options_that_do_not_go_together_are_refused(
    path: Path, arguments: tuple[str, ...]
) -> None:
    run(path, *arguments, code=2)
