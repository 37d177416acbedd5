"""The parts of a definition that carry its behaviour, comparable under renaming and reshaping.

Parameters are numbered and other local names dropped, so that a renamed variable is the same part;
parts form a bag, so that their order and nesting do not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from treering.code.diff import BLOCKS, COMMENTS, as_written, is_docstring, render
from treering.code.outline import Definition
from treering.code.parse import parse, syntax_root

if TYPE_CHECKING:
    from tree_sitter import Node

PartKind = Literal[
    "signature", "default", "decorator", "guard", "raise", "branch", "return", "call", "effect",
    "scope", "finally", "step", "option", "setting", "import", "order",
]  # fmt: skip
"""Those of the second line are compared by the guard alone: see ``treering.code.details``."""

RAISES = frozenset({"raise_statement", "throw_statement", "throw_expression"})
RETURNS = frozenset({"return_statement", "return_expression", "yield", "yield_expression"})
BRANCHES = frozenset(
    {
        *("if_statement", "elif_clause", "while_statement", "conditional_expression"),
        *("if_expression", "while_expression", "ternary_expression", "assert_statement"),
        *("case_clause", "except_clause", "catch_clause", "if_clause"),
        *("if", "unless", "if_modifier", "unless_modifier", "conditional"),
    }
)
CALLS = frozenset({"call", "call_expression", "method_invocation", "invocation_expression"})
EFFECTS = frozenset({"attribute", "subscript", "member_expression", "field_access"})
"""Targets of an assignment that outlive the call."""
ASSIGNMENTS = frozenset({"assignment", "augmented_assignment", "assignment_expression"})
BINDERS = ASSIGNMENTS | {"for_statement", "for_in_clause", "named_expression", "as_pattern"}
"""Where a definition gives names of its own, in the fields ``BOUND``."""
BOUND = ("left", "name", "alias")
SPLATS = frozenset({"list_splat_pattern", "dictionary_splat_pattern", "spread_parameter"})
NAMES = frozenset({"identifier"})


@dataclass(frozen=True, slots=True)
class Part:
    """One behaviour-bearing part; its lines, and how it is written, are not compared."""

    kind: PartKind
    text: str
    first_line: int = field(compare=False)
    last_line: int = field(compare=False)
    source: str = field(default="", compare=False)


Parts = Counter[Part]
"""A bag of parts."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A definition's parts, and its parameters in order (``required`` without a default)."""

    parts: tuple[Part, ...]
    parameters: tuple[str, ...]
    required: int

    def of(self, *kinds: PartKind) -> Parts:
        """The bag of parts of ``kinds``, or of all."""
        return Counter(part for part in self.parts if not kinds or part.kind in kinds)


def behaviour(source: str, name: str, language: str) -> Behaviour | None:
    """The behaviour of the definition called ``name``, or None where ``source`` has none.

    The last definition of that name counts, as it does when the source is run; of a method without
    its class, the name alone.
    """
    node = definition_node(source, name, language)
    return Reading(node).result() if node is not None else None


def definition_node(source: str, name: str, language: str) -> Node | None:
    """The syntax node of the definition called ``name``; see ``behaviour``."""
    there = parse(source, language).definitions
    found = [d for d in there if name in (d.name, d.qualified)]
    found = found or [d for d in there if d.name == name.rpartition(".")[2]]
    return _node_of(syntax_root(source.encode(), language), found[-1]) if found else None


def _node_of(root: Node, definition: Definition) -> Node:
    span = definition.span
    node = root.named_descendant_for_byte_range(span.start, span.end)
    if node is None:
        return root
    return node


class Reading:
    """One definition while its parts are read."""

    def __init__(self, whole: Node) -> None:
        self.whole = whole
        self.core = _first_field(whole, "definition", "declaration") or whole
        listed = _parameters(self.core)
        nodes = listed.named_children if listed else []
        self.parameter_nodes = [node for node in nodes if node.type not in COMMENTS]
        self.parameters = tuple(_parameter_name(node) for node in self.parameter_nodes)
        self.number = {name: f"p{i}" for i, name in enumerate(self.parameters)}
        self.locals = set(_assigned(self.core))

    def result(self) -> Behaviour:
        """What was read."""
        defaults = [n for n in self.parameter_nodes if n.child_by_field_name("value")]
        optional = [n for n in self.parameter_nodes if n in defaults or n.type in SPLATS]
        return Behaviour(
            parts=tuple(self.parts(defaults)),
            parameters=self.parameters,
            required=len(self.parameters) - len(optional),
        )

    def parts(self, defaults: Sequence[Node]) -> Iterator[Part]:
        """All parts, in the order of their lines; ``defaults`` are parameters that have one."""
        yield self.part("signature", self.core, " ".join(self.number.values()))
        for node in defaults:
            yield self.part("default", node, self.text(node.child_by_field_name("value") or node))
        for node in self.whole.children:
            if node.type == "decorator":
                yield self.part("decorator", node, self.text(node))
        body = self.body()
        stack = [body] if body else []
        while stack:
            node = stack.pop()
            if not is_docstring(node):
                yield from self.of_node(node)
                stack.extend(reversed(node.named_children))

    def body(self) -> Node | None:
        """Where its statements are."""
        return self.core.child_by_field_name("body")

    def of_node(self, node: Node) -> Iterator[Part]:
        """The parts that one node of the body is, without those in it."""
        if node.type in RAISES or _is_raise_call(node):
            yield self.part("raise", node, exception_name(node))
            if (test := _condition_above(node)) is not None:
                name = exception_name(node)
                source = f"{name} if {as_written(test)}"
                yield self.part("guard", node, f"{name} if {self.text(test)}", source)
        elif node.type in RETURNS:
            yield self.part("return", node, self.text(node))
        elif node.type in BRANCHES:
            yield self.part(
                "branch", node, self.text(node.child_by_field_name("condition") or node)
            )
        elif node.type in CALLS:
            callee = _first_field(node, "function", "name", "method")
            yield self.part("call", node, self.text(callee or node))
        elif node.type in ASSIGNMENTS:
            target = node.child_by_field_name("left")
            if target is not None and target.type in EFFECTS:
                yield self.part("effect", node, self.text(target))

    def part(self, kind: PartKind, node: Node, text: str, source: str = "") -> Part:
        """The part that a node is; ``source`` if that is not what the node has."""
        first, last = node.start_point.row + 1, node.end_point.row + 1
        return Part(kind, text, first, last, source or as_written(node))

    def text(self, node: Node) -> str:
        """A node's tokens, its own names made comparable."""
        return render(node, leave_out=lambda inner: inner.type in BLOCKS, rename=self.rename)

    def rename(self, node: Node, text: str) -> str:
        """What a token is compared by."""
        if node.type not in NAMES or _is_member(node):
            return text
        return self.number.get(text, "_" if text in self.locals else text)


def exception_name(node: Node) -> str:
    """The class that a raise or throw names, or an empty string where it raises what it caught."""
    if _is_raise_call(node):
        raised = node.child_by_field_name("arguments")
        return exception_name(raised) if raised else ""
    for child in node.named_children:
        callee = _first_field(child, "function", "type", "constructor")
        return render(callee or child).rsplit(" ", 1)[-1]
    return ""


def _is_raise_call(node: Node) -> bool:
    """Whether it is Ruby's ``raise``, which is a call like any other."""
    method = node.child_by_field_name("method") if node.type == "call" else None
    return method is not None and method.text == b"raise"


def _first_field(node: Node, *names: str) -> Node | None:
    found = (node.child_by_field_name(name) for name in names)
    return next((child for child in found if child is not None), None)


def _parameters(core: Node) -> Node | None:
    """The list of parameters; C and C++ have it in the declarator."""
    node: Node | None = core
    while node is not None:
        listed = node.child_by_field_name("parameters")
        if listed is not None:
            return listed
        node = node.child_by_field_name("declarator")
    return None


def _condition_above(node: Node) -> Node | None:
    """The condition that the nearest branch around ``node`` tests."""
    above = node.parent
    while above is not None and above.type not in BRANCHES:
        above = above.parent
    return above.child_by_field_name("condition") if above else None


def _parameter_name(node: Node) -> str:
    named = node.child_by_field_name("name") or node.child_by_field_name("pattern")
    if named is None and node.type not in NAMES and node.named_children:
        named = node.named_children[0]
    return ((named or node).text or b"").decode(errors="replace")


def _assigned(core: Node) -> Iterator[str]:
    """Names that the definition binds itself: assigned, looped over, caught, imported."""
    stack = [core]
    while stack:
        node = stack.pop()
        bound = BOUND if node.type in BINDERS else ()
        for target in (child for name in bound for child in node.children_by_field_name(name)):
            inner = [target]
            while inner:
                here = inner.pop()
                if here.type in NAMES:
                    yield (here.text or b"").decode(errors="replace")
                elif here.type not in EFFECTS:
                    inner.extend(here.named_children)
        stack.extend(node.named_children)


def _is_member(node: Node) -> bool:
    """Whether the name is looked up on something else, so is not a local one."""
    above = node.parent
    return above is not None and any(
        member is not None and member.id == node.id
        for member in (
            above.child_by_field_name("attribute"),
            above.child_by_field_name("property"),
        )
    )
