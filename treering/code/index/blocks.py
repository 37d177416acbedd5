"""Context memory blocks as key-value pairs (CodeMEM eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass

from treering.code.index.code_index import IndexedFile
from treering.code.parse.outline import Definition, Kind, ParsedFile


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A function or class: a short key to decide by, the whole implementation to generate from.

    ``methods`` and ``attributes`` are of classes only.
    """

    path: str
    qualified: str
    kind: Kind
    first_line: int
    last_line: int
    signature: str
    doc: str
    attributes: tuple[str, ...]
    methods: tuple[str, ...]
    calls: frozenset[str]
    """The names it calls, its external APIs."""
    value: str

    @property
    def name(self) -> str:
        """The last part of its qualified name."""
        return self.qualified.rpartition(".")[2]

    @property
    def key(self) -> str:
        """Signature with comments; of a class, its attributes and method names too."""
        lines = [f"{self.path}: {self.signature}"]
        lines.extend(f"    {line}" for line in self.doc.splitlines())
        if self.attributes:
            lines.append(f"    attributes: {', '.join(self.attributes)}")
        if self.methods:
            lines.append(f"    methods: {', '.join(self.methods)}")
        return "\n".join(lines)

    @property
    def apis(self) -> frozenset[str]:
        """The names it calls and those that can be called on it: A(m) of eq. 2."""
        return self.calls | {self.name} | frozenset(self.methods)


def code_block(path: str, file: IndexedFile, place: int) -> CodeBlock:
    """The block of the definition at ``place`` in a file's outline."""
    parsed = file.parsed
    definition = parsed.definitions[place]
    inner = _inside(parsed, place)
    return CodeBlock(
        path=path,
        qualified=definition.qualified,
        kind=definition.kind,
        first_line=definition.first_line,
        last_line=definition.span.last_line,
        signature=definition.signature,
        doc=definition.doc,
        attributes=definition.attributes,
        methods=_methods(parsed, definition, place),
        calls=frozenset(call.name for call in parsed.calls if call.scope in inner),
        value=parsed.text(definition.span),
    )


def _inside(parsed: ParsedFile, place: int) -> set[int]:
    """The definition at ``place`` and all that it encloses; parents come before children."""
    inner = {place}
    for index, definition in enumerate(parsed.definitions):
        if definition.parent in inner:
            inner.add(index)
    return inner


def _methods(parsed: ParsedFile, definition: Definition, place: int) -> tuple[str, ...]:
    """The names of a class's methods, those written outside it in the same file included."""
    if definition.kind != "class":
        return ()
    return tuple(
        one.name
        for one in parsed.definitions
        if one.kind == "method" and (one.parent == place or one.owner == definition.name)
    )
