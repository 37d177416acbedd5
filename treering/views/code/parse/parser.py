"""From source text to definitions, calls, imports and the syntax tree, with tree-sitter."""

from __future__ import annotations

import inspect
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from treering.errors import TextEncodingError
from treering.views.code.parse.language import query
from treering.views.code.parse.outline import (
    NONE,
    CallSite,
    CodeDefinition,
    DefinitionKind,
    ImportedName,
    ParsedFile,
    SourceSpan,
    SyntaxTree,
    TypedVariable,
)
from treering.views.code.parse.syntax import syntax_root

if TYPE_CHECKING:
    from tree_sitter import Node

    Match = dict[str, list[Node]]

_QUOTES = "'\"`<>"

MAX_NESTING = 100
"""Definitions that nest deeper are generated: they count as the code of the one around them."""


def parse(text: str, language: str | None) -> ParsedFile:
    """Parse ``text``; broken code yields what can be had, no language only its lines.

    Raises UnknownName for a language that is not known (see ``language.LANGUAGES``),
    MissingExtra where its grammar is not installed, TextEncodingError for lone surrogates.
    """
    source = _encode(text)
    if language is None:
        return ParsedFile(None, source, _tree_of_lines(source), (), (), (), ())
    return _Reading(source, language).result()


def outline_of(text: str, language: str) -> tuple[list[CodeDefinition], Node]:
    """The definitions of ``text`` and the root of its tree, parsed once. Raises as ``parse``."""
    reading = _Reading(_encode(text), language)
    return reading.definitions(()), reading.root


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise TextEncodingError(f"{error}; pass text decoded with errors='replace'") from error


def _tree_of_lines(source: bytes) -> SyntaxTree:
    """A root with one child a line that is not blank: all that is known of an unknown language."""
    start, end, at = [0], [len(source)], 0
    for line in source.split(b"\n"):
        if line.strip():
            start.append(at)
            end.append(at + len(line))
        at += len(line) + 1
    parent = [NONE] + [0] * (len(start) - 1)
    return SyntaxTree(*(np.array(column, dtype=np.int32) for column in (parent, start, end)))


def _flatten(root: Node) -> tuple[SyntaxTree, dict[int, int]]:
    """The columns of the tree under ``root``, and the index of each node by its id."""
    parent: list[int] = []
    start: list[int] = []
    end: list[int] = []
    index: dict[int, int] = {}
    stack = [(root, NONE)]
    while stack:
        node, above = stack.pop()
        here = len(parent)
        index[node.id] = here
        parent.append(above)
        start.append(node.start_byte)
        end.append(node.end_byte)
        if node.named_child_count:
            stack.extend([(child, here) for child in reversed(node.named_children)])
    columns = (np.array(column, dtype=np.int32) for column in (parent, start, end))
    return SyntaxTree(*columns), index


class _Reading:
    """One file while it is read: the query's matches by capture."""

    def __init__(self, source: bytes, language: str) -> None:
        self.source = source
        self.language = language
        self.root = syntax_root(source, language)  # first: it says which extra is missing
        from tree_sitter import QueryCursor

        self.tree, self.index = _flatten(self.root)
        self.matches: defaultdict[str, list[Match]] = defaultdict(list)
        for _, match in QueryCursor(query(language)).matches(self.root):
            for capture in match:
                self.matches[capture].append(match)

    def result(self) -> ParsedFile:
        comments = [_span(match["comment"][0]) for match in self.matches["comment"]]
        comments.sort(key=lambda span: span.start)
        definitions = self.definitions(comments)
        self.scopes = _Scopes(definitions)
        return ParsedFile(
            language=self.language,
            source=self.source,
            tree=self.tree,
            definitions=tuple(self.with_attributes(definitions)),
            calls=tuple(self.calls()),
            imports=tuple(self.imports()),
            bindings=tuple(self.bindings()),
        )

    def definitions(self, comments: Iterable[SourceSpan]) -> list[CodeDefinition]:
        """Definitions in order of appearance, with qualified names."""
        wrappers = {m["wrapped"][0].id: m["wrapper"][0] for m in self.matches["wrapper"]}
        bodies = {m["bodied"][0].id: m["body"][0] for m in self.matches["bodied"]}
        docs = {m["documented"][0].id: _text(m["doc"][0]) for m in self.matches["documented"]}
        bases: defaultdict[int, list[str]] = defaultdict(list)
        for match in self.matches["derived"]:
            bases[match["derived"][0].id].append(_text(match["base"][0]))
        above = _CommentsAbove(self.source, comments)
        definitions: list[CodeDefinition] = []
        enclosing: list[_Container] = []
        for container in self.containers():
            node = container.node
            while enclosing and enclosing[-1].node.end_byte < node.end_byte:
                enclosing.pop()
            if len(enclosing) == MAX_NESTING:
                continue
            if container.kind in ("function", "class"):
                whole = node
                while whole.id in wrappers:
                    whole = wrappers[whole.id]
                span = _span(whole)
                body = container.body or bodies.get(node.id)
                comment, first = above.line(span.first_line)
                container.index = len(definitions)
                definition = self.definition(container, enclosing, span, body)._replace(
                    doc=_clean_docstring(docs[node.id]) if node.id in docs else comment,
                    first_line=first,
                    bases=tuple(dict.fromkeys(bases[node.id])),
                )
                definitions.append(definition)
            enclosing.append(container)
        return definitions

    def containers(self) -> list[_Container]:
        """The containers of definitions, outermost first where they nest."""
        captures = {
            "definition.function": "function",
            "definition.class": "class",
            "impl": "impl",
            "scope": "scope",
        }
        unique = {
            match[capture][0].id: _Container(kind, match[capture][0], match)
            for capture, kind in captures.items()
            for match in self.matches[capture]
        }
        return sorted(unique.values(), key=lambda c: (c.node.start_byte, -c.node.end_byte))

    def definition(
        self,
        container: _Container,
        enclosing: list[_Container],
        span: SourceSpan,
        body: Node | None,
    ) -> CodeDefinition:
        """One definition inside the containers of ``enclosing``, outermost first."""
        node = container.node
        names = [outer.name for outer in enclosing]
        inside = enclosing[-1] if enclosing else None
        owner = container.owner or (
            inside.name if inside and inside.kind in ("class", "impl") else ""
        )
        if container.owner:
            names.append(container.owner)
        kind: DefinitionKind = (
            "class" if container.kind == "class" else "method" if owner else "function"
        )
        ends = body.start_byte if body else node.end_byte
        signature = self.source[node.start_byte : ends].decode(errors="replace")
        return CodeDefinition(
            name=container.name,
            qualified=".".join([*names, container.name]),
            kind=kind,
            owner=owner,
            parent=next((o.index for o in reversed(enclosing) if o.index != NONE), NONE),
            span=span,
            node=self.index[node.id],
            signature=" ".join(signature.split()).rstrip("{: "),
            doc="",
            first_line=span.first_line,
            bases=(),
            attributes=(),
        )

    def with_attributes(self, definitions: list[CodeDefinition]) -> Iterator[CodeDefinition]:
        """The definitions, classes with the attributes found anywhere inside them."""
        names: defaultdict[int, dict[str, None]] = defaultdict(dict)
        for match in self.matches["attribute"]:
            for node in match["attribute"]:
                scope = self.scopes.around(node)
                while scope != NONE and definitions[scope].kind != "class":
                    scope = definitions[scope].parent
                names[scope][_text(node)] = None
        for index, definition in enumerate(definitions):
            yield definition._replace(attributes=tuple(names[index]))

    def calls(self) -> Iterator[CallSite]:
        """Calls in order of appearance."""
        unique = {match["call"][0].id: match for match in self.matches["call"]}
        for match in sorted(unique.values(), key=lambda m: m["call"][0].start_byte):
            node = match["call"][0]
            yield CallSite(
                name=_text(match["callee"][0]),
                receiver=_receiver(match["receiver"][0]) if "receiver" in match else "",
                node=self.index[node.id],
                scope=self.scopes.around(node),
            )

    def imports(self) -> Iterator[ImportedName]:
        """Imported names in order of appearance."""
        for match in self.matches["import"]:
            name = "*" if "wildcard" in match else _first(match, "imported")
            module = _first(match, "module").strip(_QUOTES)
            yield ImportedName(module, name, _first(match, "alias"))

    def bindings(self) -> Iterator[TypedVariable]:
        """Variables of known type."""
        for match in self.matches["binding"]:
            node = match["variable"][0]
            yield TypedVariable(_text(node), _text(match["type"][0]), self.scopes.around(node))


class _Container:
    """A definition, impl block or namespace of the file being read."""

    def __init__(self, kind: str, node: Node, match: Match) -> None:
        self.kind = kind
        self.node = node
        # C++ writes the class of a method into its name: ``ns::Owner::name``
        *path, self.name = f"{_first(match, 'owner')}::{_text(match['name'][0])}".split("::")
        self.owner = path[-1] if path else ""
        self.body = match["body"][0] if "body" in match else None
        self.index = NONE


class _Scopes:
    """The innermost definition around a node."""

    def __init__(self, definitions: list[CodeDefinition]) -> None:
        self._definitions = definitions
        self._starts = [definition.span.start for definition in definitions]

    def around(self, node: Node) -> int:
        """The definition's index, or ``NONE``."""
        at = bisect_right(self._starts, node.start_byte) - 1
        while at != NONE and self._definitions[at].span.end < node.end_byte:
            at = self._definitions[at].parent
        return at


class _CommentsAbove:
    """The block of whole-line comments that ends right above a line."""

    def __init__(self, source: bytes, comments: Iterable[SourceSpan]) -> None:
        self._source = source
        self._ending = {
            span.last_line: span
            for span in comments
            if not source[source.rfind(b"\n", 0, span.start) + 1 : span.start].strip()
        }

    def line(self, number: int) -> tuple[str, int]:
        """The comments above line ``number``, and their first line or else ``number``."""
        block: list[str] = []
        while (span := self._ending.get(number - 1)) is not None:
            block.append(self._source[span.start : span.end].decode(errors="replace").strip())
            number = span.first_line
        return "\n".join(reversed(block)), number


def _span(node: Node) -> SourceSpan:
    # a node that ends with a line break does not reach into the line after it
    last = node.end_point.row + (node.end_point.column > 0)
    return SourceSpan(
        node.start_byte,
        node.end_byte,
        node.start_point.row + 1,
        max(last, node.start_point.row + 1),
    )


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _first(match: Match, capture: str) -> str:
    return _text(match[capture][0]) if capture in match else ""


RECEIVER_CHARS = 120
"""Longer receivers are chains of calls, whose type is unknown."""


def _receiver(node: Node) -> str:
    if node.end_byte - node.start_byte > RECEIVER_CHARS:
        return "…"
    return _text(node)


def _clean_docstring(literal: str) -> str:
    """The text of a string literal, without prefix, quotes and common indentation."""
    text = literal.lstrip("rRuUbBfF")
    quote = next((q for q in ('"""', "'''", '"', "'") if text.startswith(q)), "")
    return inspect.cleandoc(text.removeprefix(quote).removesuffix(quote))
