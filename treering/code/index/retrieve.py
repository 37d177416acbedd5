"""From a query to whole definitions: the blocks that hold the best fragments (CodeMEM eq. 1)."""

from __future__ import annotations

from treering.code.index.blocks import CodeBlock, code_block
from treering.code.index.code_index import CodeHit, CodeIndex

_HITS_PER_BLOCK = 4
"""Fragments looked at for each block wanted: several may be of one definition, or of none."""


def best_blocks(index: CodeIndex, query: str, k: int) -> list[CodeBlock]:
    """The definitions that hold the best fragments for a query, best first."""
    found: dict[tuple[str, str], CodeBlock] = {}
    for hit in index.search(query, k=_HITS_PER_BLOCK * k) if len(index) else []:
        if hit.definition and (hit.path, hit.definition) not in found:
            block = block_of(index, hit)
            found[block.path, block.qualified] = block
    return list(found.values())[:k]


def block_of(index: CodeIndex, hit: CodeHit) -> CodeBlock:
    """The block of the definition that a hit lies in."""
    file = index.files[hit.path]
    names = [definition.qualified for definition in file.parsed.definitions]
    return code_block(hit.path, file, names.index(hit.definition))


def blocks_named(index: CodeIndex, key: str) -> list[CodeBlock]:
    """The definition that is called ``PATH::NAME``, if the index has it."""
    path, _, qualified = key.partition("::")
    file = index.files.get(path)
    places = enumerate(file.parsed.definitions) if file else ()
    return [code_block(path, index.files[path], at) for at, one in places
            if one.qualified == qualified]  # fmt: skip
