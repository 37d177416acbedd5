"""How fast the page is, in a real Chromium: a memory is filled, served, and used by keyboard.

Client and server are on one machine and share its cores. The server is new, so that the first
search and the tree, which nobody has used, are timed as somebody meets them who opens the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from treering.bench.browser import NAMES, QUIET, installed
from treering.bench.perf.texts import questions
from treering.bench.server_load import serving
from treering.embed.contract import Embedder
from treering.errors import MissingExtra, ServerError
from treering.llm.settings import NONE
from treering.memory import Memory

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LIMITS_S: Final = {"first paint": 1.0, "tree": 2.0, "first search": 0.5, "tenth search": 0.5}
"""What the page promises with 20,000 entries, in seconds."""

SEARCHES: Final = 10
KEY_MS: Final = 50  # between two keys of the first query: a fast typist's twenty a second
WAIT_MS: Final = 120_000  # for what is far too slow: it is to be told as a figure, not as a failure

WIDTHS: Final = {"phone": (390, 844), "desk": (1100, 800)}
Colours = Literal["light", "dark"]
COLOURS: Final[tuple[Colours, Colours]] = ("light", "dark")
VIEWS: Final = {
    "search": "search",
    "hits": "search?q=a long way by the sea",
    "chat": "chat",
    "tree": "tree",
    "facts": "facts",
    "memos": "memos",
    "entries": "entries",
    "adding": "entries?add=1",
    "long-entry": "entries?source=long",
    "right-to-left": "entries?source=عربي",
    "code": "code",
    "status": "status",
    "error": "entry/there-is-none",
}
"""What is photographed, each by the part of the address that shows it."""

_LONG = "Pneumonoultramicroscopicsilicovolcanoconiosis" * 4
ODD_TEXTS: Final = (
    (f"A long way by the sea, and one word without end: {_LONG}. " + "It goes on. " * 200, "long"),
    ("انتقلنا من حيفا إلى عكا في الربيع، والبحر قريب جدًا من البيت.", "عربي"),
    ("עברנו לגור ליד הים, ויש לנו כלב בשם רקס.", "עברית"),
    (
        "# Sea\n\n- one\n- two\n\n| a long way | by the sea |\n|---|---|\n| 1 | 2 |\n",
        "notes/sea.md",
    ),
    ("我们搬到了海边，离车站很远。", "中文"),
)
"""Texts that pages are easily broken by, each with its source."""

_STATED: Final = (
    "My name is Ana.",
    "I live in Porto.",
    "My dentist is Dr Wu.",
    "I moved from Porto to Lisbon.",
)


def add_odd_texts(path: Path, model: Embedder) -> None:
    """Add texts that pages are easily broken by, and a few facts."""
    with Memory.open(path, embedder=model, llm=NONE) as memory:
        for text, source in ODD_TEXTS:
            memory.add(text, source=source, kind="text")
        memory.add([{"role": "user", "name": "Ana", "content": text} for text in _STATED])


@dataclass(frozen=True, slots=True)
class Look:
    """How the page is looked at: on a phone or a desk, in light or dark."""

    width: str
    colours: Colours

    @property
    def name(self) -> str:
        """The look as part of a file's name."""
        return f"{self.width}-{self.colours}"


LOOKS: Final = tuple(Look(width, colours) for width, colours in product(WIDTHS, COLOURS))


def time_page(path: Path, embedder: str) -> dict[str, Any]:
    """Seconds of the page's first steps on a phone in the dark, by keyboard, and whether they do.

    ``path`` is a memory that no server has opened since it was filled. Raises MissingExtra and
    ServerError.
    """
    with (
        launched() as browser,
        serving(path, embedder, warm=False) as (host, port),
        shown(browser, Look("phone", "dark")) as page,
    ):
        seconds = dict(_steps(page, f"http://{host}:{port}"))
    late = [name for name, limit in LIMITS_S.items() if seconds[name] > limit]
    return {"seconds": seconds, "limits": LIMITS_S, "late": late}


def photograph(path: Path, embedder: str, folder: Path) -> list[str]:
    """Save each view of a served memory in each look; return the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    names: list[str] = []
    with launched() as browser, serving(path, embedder, warm=False) as (host, port):
        for look, (name, view) in product(LOOKS, VIEWS.items()):
            with shown(browser, look) as page:
                page.goto(f"http://{host}:{port}/#/{view}")
                page.wait_for_selector("main section:not([aria-busy])")
                if name == "long-entry" and page.locator(".brief a").count():
                    page.locator(".brief a").first.click()
                    page.wait_for_selector(".text.whole")
                file = f"{look.name}-{name}.png"
                page.screenshot(path=folder / file)
                names.append(file)
    return names


@contextmanager
def launched() -> Iterator[Browser]:
    """A Chromium without a window. Raises MissingExtra and ServerError."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise MissingExtra("playwright is not installed; run: pip install playwright") from None
    with sync_playwright() as playwright:
        path = installed(playwright.chromium.executable_path)
        if path is None:
            raise ServerError(
                f"there is no browser: none of {', '.join(NAMES)} is installed; "
                "run: playwright install chromium"
            )
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


@contextmanager
def shown(browser: Browser, look: Look) -> Iterator[Page]:
    """A page in a look of its own."""
    width, height = WIDTHS[look.width]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=look.colours,
        has_touch=look.width == "phone",
    )
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    yield page
    context.close()


def _steps(page: Page, url: str) -> Iterator[tuple[str, float]]:
    """What somebody does who opens the page, each step with its seconds."""
    start = time.perf_counter()
    page.goto(f"{url}/#/search")
    page.wait_for_selector(".brief")
    yield "newest entries", time.perf_counter() - start
    yield "first paint", _paint_s(page)
    for number, query in zip(range(1, SEARCHES + 1), questions(), strict=False):
        seconds = _timed(
            page, lambda: page.keyboard.press("Enter"), _typed(page, query, first=number == 1)
        )
        if number in (1, SEARCHES):
            yield ("first search" if number == 1 else "tenth search"), seconds
    page.locator("#nav a[data-view=tree]").focus()
    yield "tree", _timed(page, lambda: page.keyboard.press("Enter"), ".branches > *")


def _typed(page: Page, query: str, *, first: bool) -> str:
    """Type a query, reached by keyboard; return the selector of its hits.

    The ``first`` is typed as people type, the others are pasted.
    """
    page.locator("main").focus()
    page.keyboard.press("/")
    page.keyboard.press("Control+A")
    if first:
        page.keyboard.type(query, delay=KEY_MS)
    else:
        page.keyboard.insert_text(query)
    # The hits of the last query are of another section, which the next one replaces.
    page.evaluate("document.querySelector('main section').dataset.before = 'yes'")
    return "main section:not([data-before]) .hit"


def _timed(page: Page, act: Callable[[], None], selector: str) -> float:
    start = time.perf_counter()
    act()
    page.wait_for_selector(selector)
    return time.perf_counter() - start


def _paint_s(page: Page) -> float:
    """Seconds from the opening of the page to its first content, as the browser counts them."""
    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    milliseconds = page.evaluate(paint)
    return float(milliseconds) / 1000 if milliseconds is not None else WAIT_MS / 1000
