"""A real headless Chromium for the tests of the page, and a closing line where there is none."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tools.install_browser import BY_HAND, installed

NO_BROWSER = f"no Chromium is installed, so the page was not tested in a browser: {BY_HAND}"

_QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with its module: while it lives, asyncio cannot run in this thread."""
    with sync_playwright() as playwright:
        path = installed(playwright.chromium.executable_path)
        if path is None:
            pytest.skip(NO_BROWSER)
        launched = playwright.chromium.launch(executable_path=path, args=_QUIET)
        yield launched
        launched.close()


@pytest.hookimpl(wrapper=True, tryfirst=True)  # below all that others write
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> Generator[None, object, object]:
    outcome = yield
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(NO_BROWSER in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(f"{count} tests were skipped: {NO_BROWSER}", yellow=True)
    return outcome
