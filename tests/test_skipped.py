from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.skipped import describe
from tools.install_browser import BY_HAND
from tools.total_tests import total

ROOT = Path(__file__).parents[1]


def test_what_was_skipped_is_told_in_one_line_with_how_to_run_it() -> None:
    reasons = [
        "langchain-core is not installed",
        "openai-agents is not installed",
        "no Chromium is installed: playwright install chromium",
        "there are no such locks there",
    ]
    assert describe(reasons) == (
        f"skipped: 2 not installed: make test; 1 in a browser: {BY_HAND}; "
        "1 here: there are no such locks there"
    )
    assert describe([]) == ""


def test_it_is_the_last_line_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import pytest\n\n@pytest.mark.skip(reason='fish is not installed')\ndef test_one(): ...\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.skipped", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=100)
    assert done.stdout.splitlines()[-1] == "skipped: 1 not installed: make test", done.stdout


def test_the_closing_line_of_ci_adds_up_all_runs() -> None:
    output = (
        "tests/test_a.py ..\n"
        "===== 7034 passed, 12 skipped, 16 xfailed in 502.10s (0:08:22) =====\n"
        "skipped: 12 not installed: make test\n"
        "===== 300 passed, 2 skipped in 40.20s =====\n"
    )
    assert total(output) == "7334 passed, 14 skipped, 16 xfailed in 542.30s"
