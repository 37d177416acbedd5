"""Notes each test that passes, for ``tools/faults.py``, in ``$TREERING_FAULT_PASSED``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test that has passed."""
    place = os.environ.get("TREERING_FAULT_PASSED")
    if place and report.when == "call" and report.passed:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n")
