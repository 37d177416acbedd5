"""Session memory: rounds of work on a definition, remembered as blocks (CodeMEM 3.4).

A block has the AST diff of its round: statements added and deleted. A statement is any node
directly in a block of code. One with blocks in it is compared by its head, and its inner statements
separately, so that moving or indenting changes nothing. White space, comments, docstrings and the
kind of quotes are not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from treering.views.code.parse.syntax import CodeStatement, statements

SAME_INTENT = 0.95
"""τ: instructions at least this similar speak of the same thing (the paper's value)."""

SHORT = 9
"""Characters of a commit's name that are shown: enough to cite it by."""

Similarity = Callable[[str, str], float]
"""Similarity of two instructions, 1 for the same meaning."""


@dataclass(frozen=True, slots=True)
class CodeDelta:
    """Δ = (Δ_add, Δ_del): statements only in the newer and only in the older version."""

    added: frozenset[CodeStatement] = frozenset()
    deleted: frozenset[CodeStatement] = frozenset()

    def reversing(self, earlier: CodeDelta) -> CodeDelta:
        """Conf (eq. 9): what ``earlier`` deleted and this adds, or added and this deletes."""
        added = (statement for statement in self.added if statement in earlier.deleted)
        deleted = (statement for statement in self.deleted if statement in earlier.added)
        return CodeDelta(frozenset(added), frozenset(deleted))


NO_CHANGE = CodeDelta()


@dataclass(frozen=True, slots=True)
class SessionBlock:
    """m_session = {I, C, ΔC, N} (eq. 6), and how the round ended.

    ``change`` is relative to the block before it in its sequence; ``note`` is written with the
    next round's feedback; ``outcome`` is what is known of the result: ``accepted``, ``rejected``
    or empty. A block without an instruction is code as it was found: no round is known to have
    asked for it. ``path`` is the file, ``id`` and ``at`` are the entry's (or the commit's), all
    empty where the block is only in memory. ``commit`` is the commit that the block is, or that
    took it in with the ``message``, where a story knows it. ``repository`` is its first commit, or
    else its folder, and ``branch`` the branch that was checked out, both empty where they are not
    known.
    """

    definition: str
    instruction: str
    code: str
    language: str = "python"
    change: CodeDelta = NO_CHANGE
    note: str = ""
    outcome: str = ""
    path: str = ""
    id: str = ""
    at: datetime | None = None
    commit: str = ""
    message: str = ""
    repository: str = ""
    branch: str = ""

    @property
    def key(self) -> str:
        """The key of its sequence: ``PATH::DEFINITION``, or the definition alone."""
        return f"{self.path}::{self.definition}" if self.path else self.definition


def working_memory(
    blocks: Sequence[SessionBlock], similarity: Similarity, alike: float = SAME_INTENT
) -> tuple[SessionBlock, ...]:
    """The working memory: the last block and those of like instruction before it (eq. 12, 13)."""
    if not blocks:
        return ()
    last = blocks[-1]
    asked = [block for block in blocks[:-1] if block.instruction and last.instruction]
    near = [m for m in asked if similarity(last.instruction, m.instruction) >= alike]
    return (*near, last)


def conflicts(
    blocks: Sequence[SessionBlock],
    instruction: str,
    code: str,
    similarity: Similarity,
    alike: float = SAME_INTENT,
) -> list[tuple[SessionBlock, CodeDelta]]:
    """Blocks of another intent that Δ, the change from the last block to ``code``, contradicts (eq.
    8 to 10), each with the part of Δ that reverses its change."""
    if not blocks:
        return []
    now = change(blocks[-1].code, code, blocks[-1].language)
    asked = (block for block in blocks if block.instruction)
    others = (block for block in asked if similarity(instruction, block.instruction) < alike)
    pairs = ((block, now.reversing(block.change)) for block in others)
    return [(block, delta) for block, delta in pairs if delta.added or delta.deleted]


def with_changes(blocks: Iterable[SessionBlock]) -> tuple[SessionBlock, ...]:
    """The blocks of one definition, oldest first, each with its change to the last one (eq. 7)."""
    sequence: list[SessionBlock] = []
    for block in blocks:
        if sequence:
            delta = change(sequence[-1].code, block.code, block.language)
            block = replace(block, change=delta)
        sequence.append(block)
    return tuple(sequence)


def change(before: str, after: str, language: str) -> CodeDelta:
    """The change from ``before`` to ``after``; each repetition of a statement counts."""
    old, new = statements(before, language), statements(after, language)
    return CodeDelta(frozenset(_surplus(new, old)), frozenset(_surplus(old, new)))


def _surplus(of: Iterable[CodeStatement], over: Iterable[CodeStatement]) -> Iterator[CodeStatement]:
    left = Counter(over)
    for statement in of:
        left[statement] -= 1
        if left[statement] < 0:
            yield statement
