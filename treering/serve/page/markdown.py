"""Markdown as a tree of few known elements, which the page builds; no markup is ever sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

LINKED = frozenset({"http", "https", "mailto"})
"""Schemes of addresses that a text may link to; others stay text."""

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_TAGS = {
    "paragraph": "p",
    "blockquote": "blockquote",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "strong": "strong",
    "em": "em",
    "s": "s",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
}
MAX_CHARS: Final = 100_000
"""Longer texts are shown as they are written: to take one apart takes a second per 300,000."""

_DEEPEST: Final = 100
"""Elements inside one another. Writers need ten."""

_BREAKS = ("hardbreak", "softbreak")  # who wrote a line end in a note meant one


@dataclass(frozen=True, slots=True)
class MarkdownNode:
    """An element by its ``tag``, or a piece of text, which has none."""

    tag: str | None = None
    text: str = ""
    href: str | None = None
    children: tuple[MarkdownNode, ...] = ()


def parsed(text: str) -> tuple[MarkdownNode, ...]:
    """The blocks of a text. None of it is markup to a browser, whatever it says.

    One paragraph, as it is written, if it is too long or its marks lie too deep in each other.
    """
    tokens = _PARSER.parse(text) if len(text) <= MAX_CHARS else []
    if not tokens or _depth(tokens) > _DEEPEST:
        return (MarkdownNode("p", children=(MarkdownNode(text=text),)),) if text.strip() else ()
    return tuple(_shown(SyntaxTreeNode(tokens).children))


def formatted(text: str) -> tuple[MarkdownNode, ...] | None:
    """As ``parsed``; None for a text that is plain: paragraphs of nothing but words."""
    blocks = parsed(text)
    plain = all(
        block.tag == "p" and all(child.tag in (None, "br") for child in block.children)
        for block in blocks
    )
    return None if plain else blocks


def _depth(tokens: Iterable[Token]) -> int:
    """How many marks lie in each other; anyone may write thousands, which no stack can hold."""
    depth = deepest = 0
    for token in tokens:
        depth += token.nesting
        inside = _depth(token.children) if token.children else 0
        deepest = max(deepest, depth + inside)
    return deepest


def _shown(nodes: Iterable[SyntaxTreeNode]) -> list[MarkdownNode]:
    return [element for node in nodes for element in _elements(node)]


def _elements(node: SyntaxTreeNode) -> list[MarkdownNode]:
    if node.type == "paragraph" and node.hidden:  # of a list whose items stand close together
        return _shown(node.children)
    if node.type in _TAGS:
        return [MarkdownNode(_TAGS[node.type], children=tuple(_shown(node.children)))]
    if node.type == "heading":
        return [MarkdownNode(node.tag, children=tuple(_shown(node.children)))]
    if node.type == "link":
        return [_link(node)]
    if node.type in ("fence", "code_block"):
        return [MarkdownNode("pre", children=(MarkdownNode(text=node.content),))]
    if node.type == "code_inline":
        return [MarkdownNode("code", children=(MarkdownNode(text=node.content),))]
    if node.type == "hr":
        return [MarkdownNode("hr")]
    if node.type in _BREAKS:
        return [MarkdownNode("br")]
    if node.type == "image":  # only its text: a picture is asked for at its address
        return [MarkdownNode(text=node.content)]
    return _shown(node.children) if node.children else [MarkdownNode(text=node.content)]


def _link(node: SyntaxTreeNode) -> MarkdownNode:
    href = str(node.attrs.get("href", ""))
    children = tuple(_shown(node.children))
    if urlsplit(href).scheme.lower() in LINKED:
        return MarkdownNode("a", href=href, children=children)
    return MarkdownNode("span", children=children)
