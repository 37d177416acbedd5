"""The parts of a piece of code that carry its behaviour, comparable under renaming and reshaping.

Parameters are numbered and other local names dropped, so that a renamed variable is the same part;
parts form a bag, so that their order and nesting do not matter. Of a class or file they are read
from the text outside its definitions. Each text is parsed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from treering.views.code.parse.parser import outline_of
from treering.views.code.parse.syntax import Syntax, field_of, source_of

if TYPE_CHECKING:
    from tree_sitter import Node

PartKind = Literal[
    "default", "decorator", "guard", "raise", "branch", "return", "call", "effect",
    "scope", "finally", "step", "option", "setting", "import",
]  # fmt: skip

BEHAVIOUR: tuple[PartKind, ...] = (
    "default", "decorator", "guard", "raise", "branch", "return", "call", "effect",
)  # fmt: skip
"""The kinds that shares are counted of. The others say the same in more detail: a surrounding
block (``scope``), calls in ``finally``, statements that are only a call (``step``), options of
calls, values of names."""

MAX_DEPTH = 200
"""Nodes of a body that nest deeper are not compared. Each part has the text of all that is in it: a
chain of ten thousand calls would take the square of its length."""

_MEMORY = 4096  # readings kept: a file's history has the same pieces again and again
_VALUE = ("right", "value", "default_value")
_DEFAULT = ("value", "default_value")
_TARGET = ("left", "name", "declarator")
_BOUND = ("left", "name", "alias", "declarator", "pattern")


@dataclass(frozen=True, slots=True)
class CodePart:
    """One behaviour-bearing part; its line is not compared."""

    kind: PartKind
    text: str
    first_line: int = field(compare=False)


Parts = Counter[CodePart]
"""A bag of parts."""


@lru_cache(_MEMORY)
def read_definition(code: str, name: str, language: str) -> tuple[CodePart, ...] | None:
    """The parts of the definition called ``name``, in order, or None if ``code`` lacks it.

    The last definition of that name counts, as it does when the source is run; of a method without
    its class, the name alone. Without a name, what a class or file says beside its definitions.
    """
    definitions, root = outline_of(code, language)
    if not name:
        return tuple(_Surroundings(Syntax(root, language), root).of_body())
    named = [
        definition for definition in definitions if name in (definition.name, definition.qualified)
    ]
    named = named or [
        definition for definition in definitions if definition.name == name.rpartition(".")[2]
    ]
    if not named:
        return None
    span = named[-1].span
    node = root.named_descendant_for_byte_range(span.start, span.end)
    function = _Function(Syntax(root, language), node or root)
    return (*function.of_signature(), *function.of_body())


class _Function:
    """One definition while its parts are read."""

    def __init__(self, syntax: Syntax, whole: Node) -> None:
        self.syntax = syntax
        self.whole = whole
        self.core = field_of(whole, "definition", "declaration") or whole
        listed = _parameter_list(self.core)
        nodes = listed.named_children if listed else []
        self.parameter_nodes = [node for node in nodes if not syntax.has(node, "comment")]
        self.parameters = tuple(map(self.parameter_name, self.parameter_nodes))
        self.number = {name: f"p{i}" for i, name in enumerate(self.parameters)}
        receiver = self.core.child_by_field_name("receiver")  # Go names its own object
        for node in receiver.named_children if receiver is not None else ():
            self.number[self.parameter_name(node)] = "self"
        self.locals = self.local_names()

    def local_names(self) -> set[str]:
        """Names that the definition binds itself: assigned, looped over, caught."""
        names = set()
        for node in (self.core, *_descendants(self.core)):
            if not self.syntax.has(node, "binder"):
                continue
            stack = [child for name in _BOUND for child in node.children_by_field_name(name)]
            while stack:
                here = stack.pop()
                if self.syntax.has(here, "name"):
                    names.add(source_of(here))
                elif not self.syntax.has(here, "outlives"):
                    stack.extend(here.named_children)
        return names

    def of_signature(self) -> Iterator[CodePart]:
        """The parts before the body."""
        for node in self.parameter_nodes:
            if (default := field_of(node, *_DEFAULT)) is not None:
                value = self.text(default)
                yield self.part("default", node, value)
                yield self.part("setting", node, f"{self.parameter_name(node)} = {value}")
        body = self.body()
        for node in _descendants(self.whole, leave_out=body):
            if self.syntax.has(node, "decorator"):
                yield self.part("decorator", node, self.text(node))

    def of_body(self) -> Iterator[CodePart]:
        """The parts of every node of the body, in the order of their lines."""
        body = self.body()
        stack = [(body, 0)] if body else []
        while stack:
            node, depth = stack.pop()
            if not self.syntax.has(node, "docstring"):
                yield from self.behaviour(node)
                yield from self.details(node)
                if depth < MAX_DEPTH:
                    stack.extend((child, depth + 1) for child in reversed(node.named_children))

    def body(self) -> Node | None:
        """Where its statements are."""
        return self.core.child_by_field_name("body")

    def behaviour(self, node: Node) -> Iterator[CodePart]:
        """The parts that one node is, without those in it."""
        has = self.syntax.has
        if has(node, "raise"):
            name = self.raised_name(node)
            yield self.part("raise", node, name)
            if (test := self.condition_above(node)) is not None:
                yield self.part("guard", node, f"{name} if {self.text(test)}")
        elif has(node, "return"):
            yield self.part("return", node, self.text(node))
        elif has(node, "branch"):
            condition = node.child_by_field_name("condition") or node
            yield self.part("branch", node, self.text(condition))
        elif has(node, "call"):
            yield self.part("call", node, self.callee(node))
        elif has(node, "assignment"):
            target = node.child_by_field_name("left")
            if target is not None and self.outlives(target):
                yield self.part("effect", node, self.text(target))

    def details(self, node: Node) -> Iterator[CodePart]:
        """The details of a node beside its behaviour."""
        has = self.syntax.has
        if has(node, "scope"):
            yield self.part("scope", node, self.text(_without_alias(node)))
        elif has(node, "ending"):
            for inner in _descendants(node):
                if has(inner, "call"):
                    yield self.part("finally", inner, self.callee(inner))
        elif has(node, "option") and node.parent is not None and (call := node.parent.parent):
            yield self.part("option", node, f"{self.callee(call)} ( {self.text(node)} )")
        elif has(node, "step") and not has(node, "raise"):
            call = next((n for n in (node, *_descendants(node)) if has(n, "call")), node)
            yield self.part("step", node, self.callee(call))
        elif has(node, "setting"):
            target, value = field_of(node, *_TARGET), field_of(node, *_VALUE)
            if target is not None and value is not None and self.is_known(target):
                name = self.text(target).rpartition(" . ")[2]
                yield self.part("setting", node, f"{name} = {self.text(value)}")

    def outlives(self, target: Node) -> bool:
        """Whether what is assigned is there after the call; Go has lists of targets."""
        only = target.named_children[0] if target.named_child_count == 1 else target
        return any(self.syntax.has(node, "outlives") for node in (target, only))

    def is_known(self, target: Node) -> bool:
        """Whether what is set is known outside of the piece."""
        return self.outlives(target)

    def part(self, kind: PartKind, node: Node, text: str) -> CodePart:
        return CodePart(kind, text, node.start_point.row + 1)

    def text(self, node: Node) -> str:
        """A node's tokens, its own names made comparable."""
        return self.syntax.text(node, self.rename)

    def rename(self, node: Node, text: str) -> str:
        if not self.syntax.has(node, "name") or self.syntax.has(node, "member"):
            return text
        return self.number.get(text, "_" if text in self.locals else text)

    def callee(self, call: Node) -> str:
        return self.text(field_of(call, "function", "name", "method") or call)

    def raised_name(self, node: Node) -> str:
        """The class that a raise or throw names; empty where it raises what it caught."""
        raised = next((n for n in _descendants(node) if self.syntax.has(n, "raised")), None)
        if raised is None:
            return ""
        called = field_of(raised, "function", "type", "constructor") or raised
        return self.syntax.text(called).rsplit(" ", 1)[-1]

    def condition_above(self, node: Node) -> Node | None:
        """The condition that the nearest branch around ``node`` tests."""
        above = node.parent
        while above is not None and not self.syntax.has(above, "branch"):
            above = above.parent
        return above.child_by_field_name("condition") if above else None

    def parameter_name(self, node: Node) -> str:
        """The name of a parameter."""
        named = field_of(node, "name", "pattern", "declarator")
        while named is not None and (inner := named.child_by_field_name("declarator")) is not None:
            named = inner  # C writes pointers and arrays around the name
        if named is None and not self.syntax.has(node, "name") and node.named_children:
            named = node.named_children[0]
        written = named or node
        names = [n for n in _descendants(written) if self.syntax.has(n, "name")]
        return source_of(names[0] if len(names) == 1 else written)


class _Surroundings(_Function):
    """The text of a class or file outside its definitions: every name in it is known outside."""

    def local_names(self) -> set[str]:
        return set()

    def body(self) -> Node | None:
        return self.core

    def is_known(self, _target: Node) -> bool:
        return True

    def details(self, node: Node) -> Iterator[CodePart]:
        yield from super().details(node)
        if self.syntax.has(node, "import"):
            yield self.part("import", node, self.text(node))


def overlap(first: Parts, other: Parts) -> float:
    """The share of the union of two bags that both hold; 1 for two empty bags."""
    together = (first | other).total()
    return (first & other).total() / together if together else 1.0


def _parameter_list(core: Node) -> Node | None:
    """The list of parameters; C and C++ have it in the declarator."""
    node: Node | None = core
    while node is not None:
        listed = node.child_by_field_name("parameters")
        if listed is not None:
            return listed
        node = node.child_by_field_name("declarator")
    return None


def _without_alias(node: Node) -> Node:
    value = node.child_by_field_name("value")
    if value is not None and value.child_by_field_name("alias") is not None:
        return value.named_children[0]
    return value or node


def _descendants(node: Node, leave_out: Node | None = None) -> Iterator[Node]:
    """The named nodes below a node, in order, but for those in one of them."""
    stack = list(reversed(node.named_children))
    while stack:
        here = stack.pop()
        if leave_out is None or here.id != leave_out.id:
            yield here
            stack.extend(reversed(here.named_children))
