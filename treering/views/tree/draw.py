"""A tree for the eye: an outline, and one self-contained HTML page.

Texts are data: each format escapes them, so that nothing in a text can act on the page or drawing.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Final

OUTLINE_CHARS: Final = 100
"""What fits on a line of a wide terminal beside the branches."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One node as it is drawn. ``title`` tells where it is from: a source, or how it was made."""

    number: int
    text: str
    title: str
    leaf: bool
    children: tuple[Branch, ...] = ()
    repeats: int = 0
    pending: bool = False


def outline(branches: Sequence[Branch]) -> str:
    """An indented text: summaries with the number of leaves they stand for, leaves with a dash."""
    lines: list[str] = []
    for branch, depth in _walk(branches):
        mark = "-" if branch.leaf else f"[{leaves(branch)}]"
        times = f" (×{branch.repeats + 1})" if branch.repeats else ""
        waiting = " (pending)" if branch.pending else ""
        text = _short(branch.text)
        lines.append(f"{'  ' * depth}{mark} {text}{times}{waiting}  #{branch.number}")
    return "\n".join(lines)


def page(branches: Sequence[Branch], title: str) -> str:
    """One HTML file without any outside reference: branches open and close, leaves are shown."""
    template = resources.files("treering.views.tree").joinpath("page.html").read_text("utf-8")
    body = "".join(_html(branch) for branch in branches)
    return Template(template).substitute(title=html.escape(title), tree=body)


def as_json(branches: Sequence[Branch]) -> str:
    """The nested nodes as JSON, for programs."""
    return json.dumps([_plain(branch) for branch in branches], ensure_ascii=False, indent=2)


def leaves(branch: Branch) -> int:
    """How many leaves stand at or below a node."""
    return sum(below.leaf for below, _ in _walk([branch]))


def _plain(branch: Branch) -> dict[str, object]:
    return {
        "node": branch.number,
        "text": branch.text,
        "title": branch.title,
        "leaf": branch.leaf,
        "repeats": branch.repeats,
        "pending": branch.pending,
        "children": [_plain(child) for child in branch.children],
    }


def _html(branch: Branch) -> str:
    text, title = html.escape(branch.text), html.escape(branch.title)
    times = f" <b>×{branch.repeats + 1}</b>" if branch.repeats else ""
    if branch.leaf:
        return f'<p class="leaf" id="n{branch.number}"><cite>{title}</cite>{times} {text}</p>\n'
    count = leaves(branch)
    inner = "".join(_html(child) for child in branch.children)
    return (
        f'<details id="n{branch.number}"><summary><b>{count}</b> {text} <cite>{title}</cite>'
        f"</summary>\n{inner}</details>\n"
    )


def _short(text: str) -> str:
    """One line; control characters, which could act on a terminal, are shown as such."""
    line = " ".join(text.split())
    line = "".join(char if char.isprintable() else "�" for char in line)
    return line if len(line) <= OUTLINE_CHARS else line[: OUTLINE_CHARS - 1] + "…"


def _walk(branches: Sequence[Branch]) -> Iterator[tuple[Branch, int]]:
    stack = [(branch, 0) for branch in reversed(branches)]
    while stack:
        branch, depth = stack.pop()
        yield branch, depth
        stack.extend((child, depth + 1) for child in reversed(branch.children))
