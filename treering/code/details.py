"""The finer parts of a piece of code that the guard compares beside its behaviour.

What surrounds (locks, files that close themselves), what is done at the end whatever happens,
statements that are nothing but a call, options of calls, and what names are set to. Of a class or
file they are read from what it says beside its definitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Self

from treering.code.behaviour import CALLS, EFFECTS, Part, Parts, Reading, definition_node
from treering.code.changes import DefinitionChange, Piece
from treering.code.parse import syntax_root

if TYPE_CHECKING:
    from tree_sitter import Node

_SCOPES = frozenset(
    {
        *("with_item", "resource", "synchronized_statement", "lock_statement"),
        *("using_statement", "defer_statement"),
    }
)
_ENDINGS = frozenset({"finally_clause", "ensure"})
_IMPORTS = frozenset(
    {"import_statement", "import_from_statement", "import_declaration", "use_declaration"}
)
_SETTERS: dict[str, tuple[str, str]] = {
    "assignment": ("left", "right"),
    "assignment_expression": ("left", "right"),
    "variable_declarator": ("name", "value"),
    "const_spec": ("name", "value"),
    "var_spec": ("name", "value"),
    "const_item": ("name", "value"),
    "static_item": ("name", "value"),
}
"""Node types that give a name a value, and their fields for both."""
_MEMORY = 4096  # pieces whose details are kept: a file's history has the same ones again and again


def details(piece: Piece | None) -> tuple[Part, ...]:
    """All that is compared of a piece, in the order of its lines; nothing of none."""
    if piece is None:
        return ()
    return _details(piece.code, piece.qualified if piece.is_function else "", piece.language)


def bag(piece: Piece | None) -> Parts:
    """The details of a piece, without order."""
    return Counter(details(piece))


@dataclass(frozen=True, slots=True)
class Come:
    """What a change brings anywhere: details, and names of new definitions by file."""

    parts: Parts
    names: Mapping[str, Set[str]]

    @classmethod
    def of(cls, found: Sequence[DefinitionChange]) -> Self:
        """The arrivals of all definitions that change."""
        parts: Parts = Counter()
        for one in found:
            parts += bag(one.after) - bag(one.before)
        names: dict[str, set[str]] = {}
        for one in found:
            if one.after is not None and one.before is None:
                inside = names.setdefault(one.after.path, set())
                inside.add(one.after.qualified.rpartition(".")[2])
        return cls(parts, names)


@lru_cache(_MEMORY)
def _details(code: str, name: str, language: str) -> tuple[Part, ...]:
    if not name:
        return tuple(_Shell(syntax_root(code.encode(), language)).every())
    node = definition_node(code, name, language)
    return tuple(_Function(node).every()) if node is not None else ()


class _Function(Reading):
    """A function while its details are read."""

    def every(self) -> Iterator[Part]:
        """All but its signature, which is compared by its defaults."""
        return (part for part in self.result().parts if part.kind != "signature")

    def of_node(self, node: Node) -> Iterator[Part]:
        yield from super().of_node(node)
        if node.type in _SCOPES:
            yield self.part("scope", node, self.text(_without_alias(node)))
        elif node.type in _ENDINGS:
            for inner in _inside(node, CALLS):
                yield self.part("finally", inner, self._callee(inner))
        elif node.type == "keyword_argument" and (call := _call_around(node)) is not None:
            yield self.part("option", node, f"{self._callee(call)} ( {self.text(node)} )")
        elif node.type == "expression_statement" and (call := _only_call(node)) is not None:
            yield self.part("step", node, self._callee(call))
        elif node.type in _SETTERS:
            yield from self._setting(node)

    def _setting(self, node: Node) -> Iterator[Part]:
        target, value = map(node.child_by_field_name, _SETTERS[node.type])
        if target is not None and value is not None and self.outlives(target):
            name = self.text(target).rpartition(" . ")[2]
            yield self.part("setting", node, f"{name} = {self.text(value)}")

    def outlives(self, target: Node) -> bool:
        """Whether what is set is there after the call."""
        return target.type in EFFECTS

    def _callee(self, call: Node) -> str:
        named = (call.child_by_field_name(name) for name in ("function", "name", "method"))
        return self.text(next((node for node in named if node is not None), call))


class _Shell(_Function):
    """What a class or file says beside its definitions: every name in it is known outside."""

    def __init__(self, root: Node) -> None:
        super().__init__(root)
        self.locals = set()

    def body(self) -> Node | None:
        return self.core

    def outlives(self, _target: Node) -> bool:
        return True

    def of_node(self, node: Node) -> Iterator[Part]:
        yield from super().of_node(node)
        if node.type in _IMPORTS:
            yield self.part("import", node, self.text(node))


def _call_around(node: Node) -> Node | None:
    listed = node.parent
    return listed.parent if listed is not None and listed.parent is not None else None


def _without_alias(node: Node) -> Node:
    value = node.child_by_field_name("value") if node.type == "with_item" else None
    if value is not None and value.type == "as_pattern":
        return value.named_children[0]
    return value or node


def _only_call(node: Node) -> Node | None:
    """The call that a statement consists of."""
    inner: Node | None = node
    while inner is not None and inner.type not in CALLS:
        # An empty statement, as in `while (*p++) ;`, has nothing inside.
        inside = inner.named_children if inner.type in _WRAPPERS else []
        inner = inside[0] if inside else None
    return inner


_WRAPPERS = frozenset({"expression_statement", "await", "await_expression"})


def _inside(node: Node, types: frozenset[str]) -> Iterator[Node]:
    stack = list(node.named_children)
    while stack:
        here = stack.pop()
        if here.type in types:
            yield here
        stack.extend(here.named_children)
