"""The result of parsing one source file: values only.

Offsets are bytes of the UTF-8 text, half open; lines count from 1 and are inclusive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
DefinitionKind = Literal["function", "method", "class"]

NONE = -1
"""The index of a definition, or of a syntax node's parent, that is not there."""


class SourceSpan(NamedTuple):
    """A stretch of a source file."""

    start: int
    end: int
    first_line: int
    last_line: int


class CodeDefinition(NamedTuple):
    """A function, method or class."""

    name: str
    qualified: str
    """The name after the names of its enclosing definitions, joined by dots: ``Parser.feed``."""
    kind: DefinitionKind
    owner: str
    """The name of the class it is a member of, or an empty string."""
    parent: int
    """The index of the definition that encloses it, or ``NONE``."""
    span: SourceSpan
    """With what belongs to it but surrounds it: decorators, ``export``, ``template``."""
    node: int
    """Its syntax node."""
    signature: str
    """The text up to the body, white space collapsed."""
    doc: str
    """The docstring, or the comment right above it."""
    first_line: int
    """Its first line, counting a comment right above it."""
    bases: tuple[str, ...]
    attributes: tuple[str, ...]


class CallSite(NamedTuple):
    """A place where something is called, instantiated or applied as a decorator."""

    name: str
    receiver: str
    """The receiver of the name, as written (``self``, ``os.path``), or an empty string."""
    node: int
    scope: int
    """The index of the innermost definition around it, or ``NONE``."""


class ImportedName(NamedTuple):
    """One name that a file brings in.

    ``name`` is empty where the module itself is imported, and ``*`` for all its names;
    ``alias`` is the name used in this file, empty where that is not said.
    """

    module: str
    name: str
    alias: str


class TypedVariable(NamedTuple):
    """A variable whose type is written down: annotated, or set to a new instance."""

    variable: str
    type: str
    scope: int


@dataclass(frozen=True, slots=True)
class SyntaxTree:
    """The named nodes of a syntax tree in pre-order, as columns; node 0 is the root.

    ``parent`` is ``NONE`` for the root and smaller than the node's own index otherwise.
    """

    parent: Ints
    start: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.parent)


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A source file, parsed. Lists are in order of appearance."""

    language: str | None
    source: bytes
    tree: SyntaxTree
    definitions: tuple[CodeDefinition, ...]
    calls: tuple[CallSite, ...]
    imports: tuple[ImportedName, ...]
    bindings: tuple[TypedVariable, ...]

    def lines(self) -> list[bytes]:
        """The lines of the file, without line feeds."""
        lines = self.source.split(b"\n")
        return lines if lines[-1] else lines[:-1]

    def text(self, span: SourceSpan) -> str:
        """The source text of ``span``."""
        return self.source[span.start : span.end].decode(errors="replace")
