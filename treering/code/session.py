"""Session memory: rounds of work on a definition, remembered as blocks (CodeMEM 3.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from treering.code.behaviour import Behaviour, Parts, behaviour
from treering.code.diff import Change, change
from treering.errors import UnknownName

SAME_INTENT = 0.95
"""τ: instructions at least this similar speak of the same thing (the paper's value)."""

RENAMED = 0.8
"""Share of parts that a vanished definition and a new one must have in common to be one."""

NO_CHANGE = Change()

Names = tuple[str, ...]
"""What a repository goes by: its first commit, other commits that its history begins with, and
its folder, as far as there are any (``git.identities``)."""

Similarity = Callable[[str, str], float]
"""Similarity of two instructions, 1 for the same meaning."""


@dataclass(frozen=True, slots=True)
class SessionBlock:
    """m_session = {I, C, ΔC, N} (eq. 6), and how the round ended.

    ``change`` is relative to the block before it in its sequence; ``note`` is written with the
    next round's feedback; ``outcome`` is what is known of the result: ``accepted``, ``rejected``
    or empty; ``met`` are the positions in the sequence of the requirements that the code is known
    to meet, None where no tests were run. A block without an instruction is code as it was found:
    nobody is known to have asked for it. ``path`` is the file, ``id`` and ``at`` are the entry's
    (or the commit's), all empty where the block is only in memory. ``commit`` is the commit that
    the block is, or that took it in with the ``message``, where a story knows it. ``repository``
    is what its repository went by, empty where nobody said which it is.
    """

    definition: str
    instruction: str
    code: str
    language: str = "python"
    change: Change = NO_CHANGE
    note: str = ""
    outcome: str = ""
    met: frozenset[int] | None = None
    path: str = ""
    id: str = ""
    at: datetime | None = None
    commit: str = ""
    message: str = ""
    repository: Names = ()

    @property
    def key(self) -> str:
        """What its sequence is known by: ``PATH::DEFINITION``, or the definition alone."""
        return f"{self.path}::{self.definition}" if self.path else self.definition


@dataclass(frozen=True, slots=True)
class Sessions:
    """Memory sequences by definition (a block's ``key``), in the order of their changes (eq. 7).

    Never altered: what changes a memory returns another one.
    """

    sequences: Mapping[str, tuple[SessionBlock, ...]] = field(default_factory=dict)

    def sequence(self, definition: str) -> tuple[SessionBlock, ...]:
        """The blocks of ``definition``, oldest first; raises UnknownName if it has none."""
        if definition not in self.sequences:
            known = ", ".join(sorted(self.sequences)) or "none"
            raise UnknownName(f"no session memory of {definition!r}; there is memory of: {known}")
        return self.sequences[definition]

    def record(
        self, block: SessionBlock, *, former: str | None = None, before: str = ""
    ) -> Sessions:
        """Append ``block`` to its definition's sequence, or begin one (eq. 11).

        ``former`` is the key it had before it was renamed or moved. Where that is not said, a
        definition that is not known continues the sequence of one that is gone from the code and
        whose behaviour it has. ``before`` is the code that the round found, where that is not what
        the last block left.
        """
        name = block.key
        if name in self.sequences:
            former = name
        elif former not in self.sequences:
            former = self._former_name(block)
        older = self.sequences.get(former, ()) if former else ()
        if before:
            found = replace(block, instruction="", code=before, note="", outcome="", met=None)
            older = (*older, replace(found, id=""))
        if older:
            delta = change(older[-1].code, block.code, block.language)
            block = replace(block, change=delta)
        kept = {n: s for n, s in self.sequences.items() if n != former}
        return Sessions({**kept, name: (*older, block)})

    def annotate(self, definition: str, note: str, outcome: str = "") -> Sessions:
        """Write the note of the last block, now that its reception is known."""
        *older, last = self.sequence(definition)
        noted = replace(last, note=note, outcome=outcome or last.outcome)
        return Sessions({**self.sequences, definition: (*older, noted)})

    def links(self, definition: str, similarity: Similarity) -> tuple[SessionBlock, ...]:
        """Link(m) of the last block: the earlier ones of similar instruction (eq. 12)."""
        *older, last = self.sequence(definition)
        asked = (m for m in older if m.instruction)
        return tuple(m for m in asked if similarity(last.instruction, m.instruction) >= SAME_INTENT)

    def working(self, definition: str, similarity: Similarity) -> tuple[SessionBlock, ...]:
        """The last block and its links (eq. 13): what the next round is shown."""
        return (*self.links(definition, similarity), self.sequence(definition)[-1])

    def _former_name(self, block: SessionBlock) -> str | None:
        now = behaviour(block.code, block.definition, block.language)
        if now is None:
            return None
        for name, likeness in sorted(self._likenesses(block, now), key=lambda pair: -pair[1]):
            return name if likeness >= RENAMED else None
        return None

    def _likenesses(self, block: SessionBlock, now: Behaviour) -> Iterator[tuple[str, float]]:
        for name, blocks in self.sequences.items():
            last = blocks[-1]
            then = behaviour(last.code, last.definition, last.language)
            gone = behaviour(block.code, last.definition, block.language) is None
            if then is not None and gone and last.language == block.language:
                yield name, overlap(then.of(), now.of())


def overlap(one: Parts, other: Parts) -> float:
    """Share of what two bags hold together that both hold; 1 for two empty ones."""
    together = (one | other).total()
    return (one & other).total() / together if together else 1.0


def candidates(
    blocks: tuple[SessionBlock, ...], instruction: str, similarity: Similarity
) -> tuple[SessionBlock, ...]:
    """M_c: blocks whose instruction has another intent than ``instruction`` (eq. 8)."""
    asked = (m for m in blocks if m.instruction)
    return tuple(m for m in asked if similarity(instruction, m.instruction) < SAME_INTENT)
