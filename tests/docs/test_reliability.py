"""The page on reliability shows the figures of stored runs, and names tests that exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools import faults

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_stored_runs() -> None:
    page = faults.PAGE.read_text("utf-8")
    assert page == faults.document(page), "run: python -m tools.faults --page"


def test_every_test_of_the_page_exists() -> None:
    page = faults.PAGE.read_text("utf-8")
    folder = ROOT
    named = re.findall(r"`((?:tests/|test_)[\w/.]+)`", page)
    assert len(named) > 40
    for name in (*named, *faults.RANDOM, *faults.FIXED):
        path = ROOT / name if "/" in name else folder / name  # a bare name is beside the last path
        assert path.exists(), name
        folder = path.parent


def test_a_failed_run_is_published_as_one() -> None:
    clean = faults.FaultRun("2026-01-01", 60, 7, 12, True, 340, "Linux", {})
    failed = faults.FaultRun("2026-01-02", 60, 8, 12, False, 339, "Linux", {})
    assert "**it failed**" in faults.report([clean, failed])
    assert "2026-01-02 with seed 8: failed" in faults.report([failed, clean])


def test_a_stored_run_is_in_the_file_and_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = 'def test_it(note): note("cuts", cuts=700, lost=0)\n'
    for name in ("random", "fixed"):
        text = f"from tests.faults.conftest import note\n{tried}"
        (tmp_path / f"test_{name}.py").write_text(text, "utf-8")
    monkeypatch.setattr(faults, "RANDOM", (str(tmp_path / "test_random.py"),))
    monkeypatch.setattr(faults, "FIXED", (str(tmp_path / "test_fixed.py"),))
    monkeypatch.setattr(faults, "RUNS", tmp_path / "runs.jsonl")
    monkeypatch.setattr(faults, "PAGE", tmp_path / "page.md")
    monkeypatch.setenv("TREERING_FAULT_SEED", "22")
    faults.PAGE.write_text("Before.\n<!-- faults -->\n<!-- /faults -->\nAfter.\n", "utf-8")
    assert faults.main(["--keep"]) == 0
    [run] = faults.kept_runs()
    assert (run.clean, run.tests, run.seed) == (True, 2, 22)
    page = faults.PAGE.read_text("utf-8")
    assert "| cuts | 1,400 cuts, 0 lost |" in page
    assert page.startswith("Before.")
    assert page.endswith("After.\n")


HANGING = """
import subprocess, sys
def test_hangs():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
    with open({place!r}, "w") as file:
        file.write(str(child.pid))
    child.wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="make is not there")
def test_a_suite_that_takes_too_long_is_ended_with_its_processes(tmp_path: Path) -> None:
    place = tmp_path / "child"
    test = tmp_path / "test_hanging.py"
    test.write_text(HANGING.format(place=str(place)), "utf-8")
    began = time.monotonic()
    assert not faults.is_passed([str(test)], os.environ, 4)
    assert time.monotonic() - began < 60
    if place.exists():
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", place.read_text()],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        assert not state or state.startswith("Z"), state
