"""Session memory: rounds of work on a definition, remembered as blocks (CodeMEM 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from treering.views.code.parse.statements import CodeDelta, change

SAME_INTENT = 0.95
"""τ: instructions at least this similar speak of the same thing (the paper's value)."""

NO_CHANGE = CodeDelta()

RepositoryNames = tuple[str, ...]
"""The names of a repository: its first commit, other commits that its history begins with, and
its folder, as far as there are any (``git.identities``)."""

Similarity = Callable[[str, str], float]
"""Similarity of two instructions, 1 for the same meaning."""


@dataclass(frozen=True, slots=True)
class SessionBlock:
    """m_session = {I, C, ΔC, N} (eq. 6), and how the round ended.

    ``change`` is relative to the block before it in its sequence; ``note`` is written with the
    next round's feedback; ``outcome`` is what is known of the result: ``accepted``, ``rejected``
    or empty. A block without an instruction is code as it was found: no round is known to have
    asked for it. ``path`` is the file, ``id`` and ``at`` are the entry's (or the commit's), all
    empty where the block is only in memory. ``commit`` is the commit that the block is, or that
    took it in with the ``message``, where a story knows it. ``repository`` is what its repository
    went by, and ``branch`` the branch that was checked out, both empty where they are not known.
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
    repository: RepositoryNames = ()
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


def with_changes(blocks: Iterable[SessionBlock]) -> tuple[SessionBlock, ...]:
    """The blocks of one definition, oldest first, each with its change to the last one (eq. 7)."""
    sequence: list[SessionBlock] = []
    for block in blocks:
        if sequence:
            delta = change(sequence[-1].code, block.code, block.language)
            block = replace(block, change=delta)
        sequence.append(block)
    return tuple(sequence)
