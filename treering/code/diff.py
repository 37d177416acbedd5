"""Statements of source code, normalised, and what a change adds and deletes (CodeMEM 3.4.2).

A statement is whatever stands directly in a block; one that holds blocks of its own is compared
by its head, its inner statements by themselves, so that moving or indenting changes nothing.
White space, comments, docstrings and the kind of quotes are not compared.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treering.code.parse import syntax_root

if TYPE_CHECKING:
    from tree_sitter import Node

BLOCKS = frozenset(
    {
        *("module", "program", "source_file", "translation_unit", "compilation_unit"),
        *("block", "statement_block", "compound_statement", "body_statement", "class_body"),
        *("declaration_list", "field_declaration_list", "interface_body", "enum_body"),
        *("constructor_body", "switch_body", "switch_block", "then", "do", "statement_list"),
    }
)
"""Node types, over the grammars we know, whose named children are statements or members."""

COMMENTS = frozenset({"comment", "line_comment", "block_comment"})
STRINGS = frozenset({"string", "string_literal", "interpreted_string_literal"})


@dataclass(frozen=True, slots=True)
class Statement:
    """A normalised AST node: equal texts of equal type are the same, wherever they stand.

    ``source`` is how it is written, without the blocks in it.
    """

    type: str
    text: str
    first_line: int = field(compare=False)
    last_line: int = field(compare=False)
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Change:
    """Δ = (Δ_add, Δ_del): statements only in the newer and only in the older version."""

    added: frozenset[Statement] = frozenset()
    deleted: frozenset[Statement] = frozenset()

    def reversed_by(self, later: Change) -> frozenset[Statement]:
        """Conf (eq. 9): what ``later`` deletes of the added, and adds of the deleted."""
        return (later.deleted & self.added) | (later.added & self.deleted)


def statements(source: str, language: str) -> tuple[Statement, ...]:
    """Every statement of ``source`` in order, as often as it stands there."""
    root = syntax_root(source.encode(), language)
    return tuple(_statement(node) for node in _statement_nodes(root) if not is_docstring(node))


def change(before: str, after: str, language: str) -> Change:
    """What turns ``before`` into ``after``; a repeated statement counts as often as it stands."""
    old, new = statements(before, language), statements(after, language)
    return Change(frozenset(_surplus(new, old)), frozenset(_surplus(old, new)))


def _surplus(of: Iterable[Statement], over: Iterable[Statement]) -> Iterator[Statement]:
    left = Counter(over)
    for statement in of:
        left[statement] -= 1
        if left[statement] < 0:
            yield statement


def _statement_nodes(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        inside = node.parent
        if inside is not None and inside.type in BLOCKS and node.type not in BLOCKS | COMMENTS:
            yield node
        stack.extend(reversed(node.named_children))


def _statement(node: Node) -> Statement:
    text = render(node, leave_out=lambda inner: inner.type in BLOCKS)
    first, last = node.start_point.row + 1, node.end_point.row + 1
    return Statement(node.type, text, first, last, as_written(node))


def as_written(node: Node) -> str:
    """The source of ``node`` up to the first block in it, lines indented as they are to its own."""
    block = next(_blocks(node), None)
    end = block.start_byte - node.start_byte if block is not None else None
    text = (node.text or b"")[:end].decode(errors="replace")
    return textwrap.dedent(" " * node.start_point.column + text).rstrip()


def _blocks(node: Node) -> Iterator[Node]:
    """The outermost blocks in ``node``, in order."""
    stack = list(reversed(node.named_children))
    while stack:
        inner = stack.pop()
        if inner.type in BLOCKS:
            yield inner
        else:
            stack.extend(reversed(inner.named_children))


def is_docstring(node: Node) -> bool:
    """Whether the statement is nothing but a string: documentation, without behaviour."""
    children = node.named_children
    return (
        node.type == "expression_statement" and len(children) == 1 and children[0].type in STRINGS
    )


def render(
    node: Node,
    leave_out: Callable[[Node], bool] = lambda _node: False,
    rename: Callable[[Node, str], str] = lambda _node, text: text,
) -> str:
    """The tokens of ``node`` joined by blanks, without comments and what is to be left out."""
    tokens: list[str] = []
    stack = [node]
    while stack:
        here = stack.pop()
        if here.type in COMMENTS or (here is not node and leave_out(here)):
            continue
        if here.type in STRINGS or not here.children:
            text = (here.text or b"").decode(errors="replace")
            tokens.append(_quoted(text) if here.type in STRINGS else rename(here, text))
        else:
            stack.extend(reversed(here.children))
    return " ".join(token for token in tokens if token.strip())


def _quoted(text: str) -> str:
    """A string literal with double quotes where both kinds can be used."""
    body = text[1:-1]
    plain = len(text) > 1 and text[0] == text[-1] == "'" and not set(body) & {'"', "\\", "'"}
    return f'"{body}"' if plain else text
