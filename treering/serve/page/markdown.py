"""Markdown as a tree of few known elements, from which the page is built without markup."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

LINKED = frozenset({"http", "https", "mailto"})
"""Schemes of addresses that become links; others stay text."""

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
"""Longer texts stay as written: the parser takes a second for 300,000 characters."""

_DEEPEST: Final = 100
"""The deepest nesting of elements. Writers need ten."""

_BREAKS = ("hardbreak", "softbreak")  # a line end in a note is meant as one


@dataclass(frozen=True, slots=True)
class MarkdownNode:
    """An element by its ``tag``, or or a piece of text."""

    tag: str | None = None
    text: str = ""
    href: str | None = None
    children: tuple[MarkdownNode, ...] = ()


def parse_markdown(text: str) -> tuple[MarkdownNode, ...]:
    """Return the blocks of a text, whose strings a browser never reads as markup.

    A text that is too long or nested too deeply is one paragraph, as written.
    """
    tokens = _PARSER.parse(text) if len(text) <= MAX_CHARS else []
    if not tokens or _depth(tokens) > _DEEPEST:
        return (MarkdownNode("p", children=(MarkdownNode(text=text),)),) if text.strip() else ()
    return tuple(_children(SyntaxTreeNode(tokens).children))


def format_if_marked(text: str) -> tuple[MarkdownNode, ...] | None:
    """Return the blocks of a text; None if they are only paragraphs of words."""
    blocks = parse_markdown(text)
    plain = all(
        block.tag == "p" and all(child.tag in (None, "br") for child in block.children)
        for block in blocks
    )
    return None if plain else blocks


def _depth(tokens: Iterable[Token]) -> int:
    """Return the depth of nested marks: thousands would overflow the stack."""
    depth = deepest = 0
    for token in tokens:
        depth += token.nesting
        inside = _depth(token.children) if token.children else 0
        deepest = max(deepest, depth + inside)
    return deepest


def _children(nodes: Iterable[SyntaxTreeNode]) -> list[MarkdownNode]:
    return [element for node in nodes for element in _elements(node)]


def _elements(node: SyntaxTreeNode) -> list[MarkdownNode]:
    if node.type == "paragraph" and node.hidden:  # of a list without blank lines
        return _children(node.children)
    if node.type in _TAGS:
        return [MarkdownNode(_TAGS[node.type], children=tuple(_children(node.children)))]
    if node.type == "heading":
        return [MarkdownNode(node.tag, children=tuple(_children(node.children)))]
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
    if node.type == "image":  # only its text: a browser would request the picture at its address
        return [MarkdownNode(text=node.content)]
    return _children(node.children) if node.children else [MarkdownNode(text=node.content)]


def _link(node: SyntaxTreeNode) -> MarkdownNode:
    href = str(node.attrs.get("href", ""))
    children = tuple(_children(node.children))
    if urlsplit(href).scheme.lower() in LINKED:
        return MarkdownNode("a", href=href, children=children)
    return MarkdownNode("span", children=children)
