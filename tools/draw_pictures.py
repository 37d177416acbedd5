"""Draw the pictures of the pages: ``python -m tools.draw_pictures``.

Figures come from the committed results, and a test compares them. The tree is that of the example
in docs/methods.md. With ``page`` as argument it only takes the picture of the server's page, for
which it needs Chromium.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from tools.document_results import RESULTS, scores
from treering import Memory
from treering.views.tree.node import TreeNode
from treering_bench.perf import report as speed
from treering_bench.perf.timing import OURS
from treering_bench.report import titled

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDTH = 640
GREEN, BROWN, GREY, TEXT = "#1b7f5c", "#a4682a", "#9aa0a6", "#6b7075"  # legible on white and black

_SETS = ("BEAM", "FairytaleQA", "LiHua-World", "LoCoMo", "MultiHop-RAG", "2WikiMultihopQA")
_LINES = (("warm context", "search", GREEN), ("forget", "forget, also from the bytes", BROWN))
_TEXTS = (
    ("may", "Ana sold the old boat in May."),
    ("june", "Ana looked at a boat with a red sail."),
    ("kitchen", "Ben burnt the bread in the oven."),
    ("repairs", "The oven of Ben is broken again."),
    ("july", "Ana saves for a new boat."),
)


_LIFE = (
    ("chat", "Ana", "2025-01-10", "I live in Berlin."),
    ("chat", "Ana", "2025-01-10", "I work at the museum there."),
    ("chat", "Ben", "2025-11-02", "The boiler needs a new valve."),
    ("chat", "Ana", "2026-05-03", "I moved to Porto."),
    ("chat", "Ana", "2026-05-04", "I found a flat by the river."),
    ("house", "Ben", "2026-03-12", "The boiler was serviced today."),
    ("boat", "Ana", "2026-06-01", "The boat needs a new sail before the summer."),
)


def relations() -> str:
    """Draw recall@10 of BM25 with cosine and of treering, for each data set."""
    found = {title: one for measured in scores("") for title, one in titled(measured)}
    parts, y = [], 24
    for name in _SETS:
        parts.append(_label(name, 140, y + 13, "end"))
        for policy, color in (("fusion", GREY), ("treering", GREEN)):
            mean = found[name].mean(policy, "recall@10")
            assert mean is not None
            value = 100 * mean[0]
            parts.append(
                f'<rect x="150" y="{y}" width="{value * 4:.0f}" height="9" fill="{color}"/>'
            )
            parts.append(_label(f"{value:.1f}", 156 + value * 4, y + 9))
            y += 11
        y += 12
    parts.append(_label("BM25 + cosine", 150, y + 8, color=GREY))
    parts.append(
        _label("treering, with relations (evidence in ten hits, %)", 260, y + 8, color=GREEN)
    )
    return _picture(parts, y + 20)


def cost() -> str:
    """Draw the time of a search and of a forget against the size of the memory."""
    times = [speed.read(RESULTS / "perf" / f"{name}.jsonl") for name in ("million", "ten-million")]
    by_key = {key: value for timed in times for key, value in timed.by_key.items()}

    def place(size: int, seconds: float) -> tuple[float, float]:
        return 90 + (math.log10(size) - 3) * 120, 240 - (math.log10(seconds) + 3) * 70

    parts = []
    for power in range(3, 8):
        x, _ = place(10**power, 1)
        parts.append(_label(f"{10**power:,}", x, 262, "middle"))
    for power, name in zip(range(-3, 1), ("1 ms", "10 ms", "100 ms", "1 s"), strict=True):
        _, y = place(1000, 10.0**power)
        parts.append(
            f'<line x1="80" x2="{WIDTH - 20}" y1="{y:.0f}" y2="{y:.0f}" stroke="{GREY}"'
            ' stroke-opacity="0.4"/>'
        )
        parts.append(_label(name, 72, y + 4, "end"))
    for operation, name, color in _LINES:
        sizes = sorted(n for (what, n, by) in by_key if what == operation and by == OURS)
        points = [place(n, by_key[operation, n, OURS].value) for n in sizes]
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2.5"/>')
        x, y = points[0]
        parts.append(_label(name, x, y - 8, color=color))
    parts.append(_label("turns in the memory", WIDTH / 2, 284, "middle"))
    return _picture(parts, 296)


def tree() -> str:
    """Draw the tree of a small memory."""
    with tempfile.TemporaryDirectory() as folder, Memory.open(Path(folder) / "a.db") as memory:
        for source, text in _TEXTS:
            memory.add(text, source=source)
        memory.tree.settle()
        rows = list(_rows(memory, memory.tree.roots(), 0))
    parts = []
    for number, (depth, text, is_leaf) in enumerate(rows):
        x, y = 20 + depth * 34, 14 + number * 30
        if depth:
            above = max(n for n in range(number) if rows[n][0] == depth - 1)
            parts.append(
                f'<path d="M{x - 20} {30 + above * 30 + 8}V{y + 12}H{x}" fill="none"'
                f' stroke="{GREY}"/>'
            )
        color = GREY if is_leaf else GREEN
        parts.append(
            f'<rect x="{x}" y="{y}" width="{WIDTH - 20 - x}" height="24" rx="4"'
            f' fill="{color}" fill-opacity="0.15" stroke="{color}"/>'
        )
        parts.append(_label(text, x + 10, y + 16))
    return _picture(parts, 20 + len(rows) * 30)


def _rows(memory: Memory, nodes: Sequence[TreeNode], depth: int) -> Iterator[tuple[int, str, bool]]:
    for node in nodes:
        yield depth, node.text if len(node.text) < 84 else f"{node.text[:82]}…", node.leaf
        if not node.leaf:
            yield from _rows(memory, memory.tree.children(node.number), depth + 1)


def _label(text: str, x: float, y: float, anchor: str = "start", color: str = TEXT) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'
    )


def _picture(parts: Sequence[str], height: float) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}"'
    return "\n".join((f'{head} font-family="sans-serif" font-size="12">', *parts, "</svg>", ""))


def photograph_page(target: Path) -> None:
    """Take the picture of a search on the server's page, with a hit taken apart."""
    from playwright.sync_api import sync_playwright

    from tests.serve.live import serving
    from tools.install_browser import QUIET, chromium_path

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        with Memory.open(Path(folder) / "life.db") as memory:
            for source, speaker, at, text in _LIFE:
                memory.add(text, source=source, speaker=speaker, at=at, kind="chat")
            memory.tree.settle()
            memory.settle()
        path = chromium_path(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        page = browser.new_page(viewport={"width": 1000, "height": 760}, color_scheme="light")
        with serving(url=Path(folder) / "life.db", embedder=None) as url:
            page.goto(f"{url}/#/search?q=Where+does+Ana+live%3F&k=5")
            page.get_by_text("Tree and relations").first.click()
            page.locator(".around svg").wait_for()
            page.screenshot(path=target)
        browser.close()


PICTURES = {"relations.svg": relations, "cost.svg": cost, "tree.svg": tree}


if __name__ == "__main__":
    if sys.argv[1:] == ["page"]:
        photograph_page(FOLDER / "page.png")
    else:
        for name, draw in PICTURES.items():
            (FOLDER / name).write_text(draw(), "utf-8")
