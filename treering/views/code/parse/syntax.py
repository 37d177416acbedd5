"""A syntax tree read by the captures of its language's query: the nodes that a change is compared
by, and their text, normalised. Only ``queries/*.scm`` names node types.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from treering.views.code.parse.language import grammar, query

if TYPE_CHECKING:
    from tree_sitter import Node

Capture = Literal[
    "assignment", "binder", "block", "branch", "call", "comment", "decorator", "docstring",
    "ending", "import", "member", "name", "option", "outlives", "raise",
    "raised", "return", "scope", "setting", "step", "string",
]  # fmt: skip
"""The role of a node for the guard; ``language`` says what each of them means."""

MAX_DEPTH = 1_000
"""Nodes that nest deeper are nothing to the guard. With each of them the query goes through what it
has begun around them: ten thousand, one in the other, would take minutes."""

Rename = Callable[["Node", str], str]


@dataclass(frozen=True, slots=True)
class CodeStatement:
    """A normalised AST node: equal texts of equal type are the same in any place.

    ``source`` is how it is written, without the blocks in it.
    """

    type: str
    text: str
    first_line: int = field(compare=False)
    source: str = field(default="", compare=False)


def syntax_root(source: bytes, language: str) -> Node:
    """The root of tree-sitter's own tree, for those who need more than ``parse`` keeps."""
    loaded = grammar(language)  # first: it says which extra is missing
    from tree_sitter import Parser

    return Parser(loaded).parse(source).root_node


def statements(code: str, language: str, *, imports: bool = True) -> tuple[CodeStatement, ...]:
    """Every statement of ``code`` in order, with repetitions; with imports, or without."""
    syntax = Syntax(syntax_root(code.encode(), language), language)
    return tuple(
        CodeStatement(
            type=node.type,
            text=syntax.text(node),
            first_line=node.start_point.row + 1,
            source=syntax.as_written(node),
        )
        for node in syntax.statement_nodes()
        if imports or not syntax.has(node, "import")
    )


class Syntax:
    """A tree and the captures of its nodes."""

    def __init__(self, root: Node, language: str) -> None:
        compiled = query(language, "guard")
        from tree_sitter import QueryCursor

        self.root = root
        self._text = root.text or b""
        cursor = QueryCursor(compiled)
        cursor.set_max_start_depth(MAX_DEPTH)
        captures = cursor.captures(root)
        self._nodes = {
            name: frozenset(node.id for node in nodes) for name, nodes in captures.items()
        }

    def has(self, node: Node, capture: Capture) -> bool:
        """Whether a node is one of those that a capture names."""
        return node.id in self._nodes.get(capture, ())

    def statement_nodes(self) -> Iterator[Node]:
        """Every node directly in a block, in order, but comments and docstrings."""
        stack = [(self.root, False)]
        while stack:
            node, is_in_block = stack.pop()
            if is_in_block and self._is_statement(node):
                yield node
            is_block = self.has(node, "block")  # a node finds its parent only from the root down
            stack.extend((child, is_block) for child in reversed(node.named_children))

    def _is_statement(self, node: Node) -> bool:
        return not any(self.has(node, kind) for kind in ("block", "comment", "docstring"))

    def text(self, node: Node, rename: Rename = lambda _node, text: text) -> str:
        """The tokens of ``node`` joined by blanks, without comments and the blocks in it."""
        tokens: list[str] = []
        stack = [node]
        while stack:
            here = stack.pop()
            if self.has(here, "comment") or (here is not node and self.has(here, "block")):
                continue
            if self.has(here, "string") or not here.children:
                text = source_of(here)
                tokens.append(
                    _double_quotes(text) if self.has(here, "string") else rename(here, text)
                )
            else:
                stack.extend(reversed(here.children))
        return " ".join(token for token in tokens if token.strip())

    def as_written(self, node: Node) -> str:
        """The source of ``node`` without the blocks in it, its lines indented as in a file."""
        heads: list[tuple[Node, Node]] = []  # the first and last token of each, such as `except`
        is_after_block, stack = True, [node]
        while stack:
            here = stack.pop()
            if here is not node and self.has(here, "block"):
                is_after_block = True
            elif here.children:
                stack.extend(reversed(here.children))
            elif not self.has(here, "comment"):
                first = here if is_after_block else heads.pop()[0]
                heads.append((first, here))
                is_after_block = False
        return "\n".join(
            textwrap.dedent(" " * first.start_point.column + self._source(first, last))
            for first, last in heads
        )

    def _source(self, first: Node, last: Node) -> str:
        begin, end = (byte - self.root.start_byte for byte in (first.start_byte, last.end_byte))
        return self._text[begin:end].decode(errors="replace")


def source_of(node: Node) -> str:
    """The source text of a node."""
    return (node.text or b"").decode(errors="replace")


def field_of(node: Node, *names: str) -> Node | None:
    """The first of some fields that a node has."""
    children = (node.child_by_field_name(name) for name in names)
    return next((child for child in children if child is not None), None)


def _double_quotes(text: str) -> str:
    """A string literal with double quotes where both kinds can be used."""
    body = text[1:-1]
    plain = len(text) > 1 and text[0] == text[-1] == "'" and not set(body) & {'"', "\\", "'"}
    return f'"{body}"' if plain else text
