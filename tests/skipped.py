"""The last line of a test run: what was skipped, and how to run that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from tools.install_browser import BY_HAND

HOW_TO_RUN = {
    "Chromium": f"in a browser: {BY_HAND}",
    "'local'": "a local model: .venv/bin/pip install '.[local]'",
    "'fastembed'": "models of fastembed: .venv/bin/pip install '.[fastembed]'",
    "is not installed": "not installed: make test",
    "the history is not here": "the history of the repository: git fetch --unshallow",
    "make faults": "statistics of times: make faults",
    "make test-ray": "Ray: make test-ray",
    "root": "as root: run the tests as another user",
}
"""What a reason for skipping has in it, and what it comes to; the first that fits counts."""


def describe(reasons: Iterable[str]) -> str:
    """One line for the reasons of skipped tests, one each; nothing if there are none."""
    counts = Counter(map(_how, reasons))
    parts = (f"{count} {how}" for how, count in counts.most_common())
    return f"skipped: {'; '.join(parts)}" if counts else ""


def pytest_unconfigure(config: pytest.Config) -> None:
    """Print the line, after all that pytest itself has to say."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # a worker of a run in several processes
        return
    reports = reporter.stats.get("skipped", [])
    line = describe(_reason(report) for report in reports)
    if line:
        reporter.write_line(line)


def _how(reason: str) -> str:
    return next((how for part, how in HOW_TO_RUN.items() if part in reason), f"here: {reason}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test was skipped: the third of file, line and reason."""
    longrepr = report.longrepr
    reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return reason.removeprefix("Skipped: ")
