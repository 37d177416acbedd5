"""A real headless Chromium for the tests of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tools.install_browser import BY_HAND
from treering.bench.browser import QUIET, installed

NO_BROWSER = f"no Chromium is installed, so the page was not tested in a browser: {BY_HAND}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with its module: while it lives, asyncio cannot run in this thread."""
    with sync_playwright() as playwright:
        path = installed(playwright.chromium.executable_path)
        if path is None:
            pytest.skip(NO_BROWSER)
        launched = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield launched
        launched.close()


Visit = Callable[[str, str], Page]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Opens a view of a server; at the end nothing may have been asked for elsewhere, failed or
    acted.
    """
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    page = context.new_page()
    page.set_default_timeout(10_000)
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.extend(_complaint(message)))

    def visited(base: str, view: str) -> Page:
        page.goto(f"{base}/#/{view}")
        expect(page.locator("main section[aria-busy]")).to_have_count(0)
        return page

    yield visited
    assert page.title() != "pwned"
    assert {urlsplit(url).hostname for url in asked} <= {"127.0.0.1", None}
    expected = ("401", "404", "422", "501")  # answers that the page itself tells of
    assert not [text for text in wrong if not any(status in text for status in expected)]
    context.close()


def _complaint(message: ConsoleMessage) -> list[str]:
    return [message.text] if message.type in ("error", "warning") else []
