"""Context memory blocks as key-value pairs (CodeMEM eq. 1)."""

from __future__ import annotations

from dataclasses import dataclass

from treering.views.code.index.code_index import ALPHA, CodeIndex, IndexedFile
from treering.views.code.parse.outline import CodeDefinition, DefinitionKind, ParsedFile


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A function or class: a short key to decide by, the whole implementation to generate from.

    ``methods`` and ``attributes`` are of classes only.
    """

    path: str
    qualified: str
    kind: DefinitionKind
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
    def place(self) -> str:
        """Its file and name: ``PATH::NAME``."""
        return f"{self.path}::{self.qualified}"

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


def _methods(parsed: ParsedFile, definition: CodeDefinition, place: int) -> tuple[str, ...]:
    """The names of a class's methods, those written outside it in the same file included."""
    if definition.kind != "class":
        return ()
    return tuple(
        member.name
        for member in parsed.definitions
        if member.kind == "method" and (member.parent == place or member.owner == definition.name)
    )


_HITS_PER_BLOCK = 4
"""Fragments looked at for each block wanted: several may be of one definition, or of none."""


def best_blocks(
    index: CodeIndex, query: str, k: int, alpha: float = ALPHA, *, aside: bool = True
) -> list[CodeBlock]:
    """The definitions that hold the best fragments for a query, best first.

    ``alpha`` weighs the code relation; with 0, and without ``aside``, they are the best by BM25
    alone.
    """
    blocks: dict[tuple[str, str], CodeBlock] = {}
    most = _HITS_PER_BLOCK * k
    for hit in index.search(query, k=most, alpha=alpha, aside=aside) if len(index) else []:
        if hit.definition and (hit.path, hit.definition) not in blocks:
            [block, *_] = blocks_named(index, f"{hit.path}::{hit.definition}")
            blocks[hit.path, hit.definition] = block
    return list(blocks.values())[:k]


def blocks_named(index: CodeIndex, key: str) -> list[CodeBlock]:
    """The definition that is called ``PATH::NAME``, if the index has it."""
    path, _, qualified = key.partition("::")
    file = index.files.get(path)
    places = enumerate(file.parsed.definitions) if file else ()
    return [code_block(path, index.files[path], at) for at, definition in places
            if definition.qualified == qualified]  # fmt: skip
