"""A real headless Chromium for the tests of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tools.install_browser import BY_HAND, QUIET, chromium_path

NO_BROWSER = f"no Chromium is installed, so the page was not tested in a browser: {BY_HAND}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with its module: while it lives, asyncio cannot run in this thread."""
    with sync_playwright() as playwright:
        path = chromium_path(playwright.chromium.executable_path)
        if path is None:
            pytest.skip(NO_BROWSER)
        launched = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield launched
        launched.close()


Visit = Callable[[str, str], Page]

SIZE = ViewportSize(width=1100, height=800)
BLANK = "about:blank"


@contextmanager
def new_tab(browser: Browser) -> Iterator[Page]:
    """A tab that shares nothing with others."""
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.set_default_timeout(10_000)
    yield page
    context.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    with new_tab(browser) as page:
        yield page


@pytest.fixture
def visit(tab: Page) -> Iterator[Visit]:
    """Opens a view of a server; at the end nothing may have been asked for elsewhere, failed or
    acted.
    """
    asked: list[str] = []
    wrong: list[str] = []
    listeners: dict[Any, Callable[[Any], None]] = {
        "request": lambda request: asked.append(request.url),
        "pageerror": lambda error: wrong.append(str(error)),
        "console": lambda message: wrong.extend(_complaint(message)),
    }
    for event, listener in listeners.items():
        tab.on(event, listener)

    def visited(base: str, view: str) -> Page:
        tab.goto(f"{base}/#/{view}")
        expect(tab.locator("main section[aria-busy]")).to_have_count(0)
        return tab

    yield visited
    assert tab.title() != "pwned"
    assert {urlsplit(url).hostname for url in asked} <= {"127.0.0.1", None}
    expected = ("401", "404", "422", "501")  # answers that the page itself tells of
    assert not [text for text in wrong if not any(status in text for status in expected)]
    for event, listener in listeners.items():
        tab.remove_listener(event, listener)


def renew(tab: Page) -> None:
    """Leave the page, and forget what was chosen in it: another test goes on in the tab."""
    if tab.url != BLANK:
        tab.evaluate("localStorage.clear(); sessionStorage.clear()")
    tab.set_viewport_size(SIZE)
    tab.emulate_media(color_scheme="light")
    tab.goto(BLANK, wait_until="commit", timeout=60_000)


def _complaint(message: ConsoleMessage) -> list[str]:
    return [message.text] if message.type in ("error", "warning") else []
