"""Which earlier rounds and commits does a change undo? ``memory.code.check`` asks.

A check stops a commit, so it asks the rules of ``rules.Comparison``. Another draft costs one more
reply, so a draft only has to keep half of the behaviour that each round brought.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from treering.errors import InputError
from treering.records import Progress
from treering.views.code.guard.rules import Comparison, arrived_parts, parts_in_order, parts_of
from treering.views.code.parse.parts import CodePart, Parts
from treering.views.code.parse.pieces import CodePiece, DefinitionChange, changes
from treering.views.code.parse.syntax import CodeStatement
from treering.views.code.rounds import recorded
from treering.views.code.rounds.git import STAGED, WORKING_TREE, Git
from treering.views.code.rounds.history import (
    DEPTH,
    CommitHistory,
    EarlierChange,
    Origin,
    changes_of,
)
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.code.rounds.session import SHORT, SessionBlock, Similarity, conflicts

KEPT = 0.5
"""A draft that has a smaller share of the behaviour that a round brought loses it: the nearest
round number. With shares of .25 to 1, F1 on recorded dialogues is .80 to .77."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a file, and which."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Reversal:
    """An earlier round that a change takes back, in one definition.

    ``then`` are the lines that it loses, as they stood before the change, ``now`` the lines that
    are there instead: none where the others are just gone.
    """

    path: str
    definition: str
    line: int
    instruction: str
    name: str
    at: datetime | None
    origin: Origin
    then: tuple[SourceLine, ...]
    now: tuple[SourceLine, ...]

    @property
    def citation(self) -> str:
        """What a commit message names it by: a commit abbreviated, a round by its whole id.

        An id begins with its time, so that rounds recorded in one second look alike.
        """
        return self.name[:SHORT] if self.origin == "commit" else self.name

    def is_cited(self, words: tuple[str, ...]) -> bool:
        """Whether some words of a message cite it."""
        return self.name in words or (self.origin == "commit" and self.name.startswith(words))

    def __str__(self) -> str:
        return "; ".join([self.instruction, *(f"missing: {line.text}" for line in self.then)])


def reversals(
    change: DefinitionChange, history: Sequence[EarlierChange], arrived: Parts
) -> tuple[Reversal, ...]:
    """The rounds of ``history``, oldest first, that ``change`` undoes by a rule; newest first.

    A round that only loses lines of a newer report is left out, and so is a definition that is
    deleted: nobody loses a whole one by accident.
    """
    if change.before is None or change.after is None:
        return ()
    old, new = change.before, change.after
    reports: list[Reversal] = []
    reported: set[int] = set()
    for earlier in reversed(history):
        lost, back = Comparison(earlier, old, new, arrived).undone_parts()
        lines = {part.first_line for part in lost}
        if not lines <= reported:
            reported |= lines
            reports.append(_report(earlier, new, _lines(old, lost), _lines(new, back)))
    return tuple(reports)


def likely_reversals(draft: CodePiece, history: Sequence[EarlierChange]) -> tuple[Reversal, ...]:
    """The rounds of which a draft has lost most, newest first."""
    return tuple(
        _report(earlier, draft, _lines(earlier.after, lost), ())
        for earlier in reversed(history)
        if (lost := mostly_lost(earlier, draft))
    )


def printed_reversals(
    blocks: Sequence[SessionBlock],
    instruction: str,
    code: str,
    similarity: Similarity,
    alike: float,
) -> tuple[Reversal, ...]:
    """The rounds that a draft undoes by the paper's rule (eq. 8 to 10), newest first."""
    reports = []
    for block, delta in reversed(conflicts(blocks, instruction, code, similarity, alike)):
        then, now = _statement_lines(delta.deleted), _statement_lines(delta.added)
        where, asked = (block.path, block.definition, 1), (block.instruction, block.id, block.at)
        reports.append(Reversal(*where, *asked, "round", then, now))
    return tuple(reports)


def _statement_lines(statements: Iterable[CodeStatement]) -> tuple[SourceLine, ...]:
    return tuple(
        SourceLine(each.first_line, " ".join(each.source.split()))
        for each in sorted(statements, key=lambda statement: statement.first_line)
    )


def mostly_lost(earlier: EarlierChange, draft: CodePiece) -> list[CodePart]:
    """The parts that a round brought to a function and a draft lacks, if it keeps too few.

    Behaviour is compared, or all parts if the round brought no behaviour, such as a lock.
    """
    before, after = earlier.before, earlier.after
    brought = after.behaviour() - (before.behaviour() if before is not None else Counter())
    now = draft.behaviour()
    if not brought and after.is_function:
        brought, now = parts_of(after) - parts_of(before), parts_of(draft)
    if (brought & now).total() >= KEPT * brought.total():
        return []
    return parts_in_order(after, brought - now)


def _report(
    earlier: EarlierChange,
    new: CodePiece,
    then: tuple[SourceLine, ...],
    now: tuple[SourceLine, ...],
) -> Reversal:
    """The report that ``new`` undoes ``earlier``."""
    return Reversal(
        path=new.path,
        definition=new.qualified,
        line=max(new.line(new.header + 1), 1),
        instruction=earlier.instruction,
        name=earlier.name,
        at=earlier.at,
        origin=earlier.origin,
        then=then,
        now=now,
    )


def _lines(piece: CodePiece, parts: Sequence[CodePart]) -> tuple[SourceLine, ...]:
    """The first lines of parts, as the file has them."""
    text = piece.code.splitlines()
    numbers = sorted({part.first_line for part in parts})
    return tuple(SourceLine(piece.line(n), text[n - 1].strip()) for n in numbers if n <= len(text))


_CITED = re.compile(r"\b[0-9a-f]{7,64}\b")


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The earlier changes that a change would undo, and the number of comparisons.

    ``definitions`` counts the definitions that the change alters, ``deleted`` those that it
    deletes: a whole definition is not deleted by accident, so these are not compared. A ``shallow``
    clone has neither older commits nor the rounds recorded in a whole clone.
    """

    undone: tuple[Reversal, ...]
    definitions: int
    rounds: int
    commits: int
    shallow: bool
    deleted: int = 0

    def __bool__(self) -> bool:
        return bool(self.undone)


def check(
    root: Path,
    rounds: Sequence[RecordedBlock],
    *,
    staged: bool = False,
    commits: str | None = None,
    message: str = "",
    depth: int = DEPTH,
    progress: Progress | None = None,
) -> CheckReport:
    """Report which of ``rounds`` and of the last commits a change undoes; see
    ``CodeMemory.check``."""
    if depth < 0:
        raise InputError(f"depth is {depth}; it must be at least 0", param="depth")
    if staged and commits:
        raise InputError("give staged or commits, not both")
    git = Git.at(root)
    old, new = git.head(), STAGED if staged else WORKING_TREE
    if commits is not None:
        old, new = git.ends(commits)
        message = f"{message}\n{git.message(old, new)}"
    history = CommitHistory(git)
    pairs = git.changed_paths(old, new)
    before = history.all_pieces(git.texts(old, [path for path, _ in pairs if path]))
    after = history.all_pieces(git.texts(new, [path for _, path in pairs if path]))
    changed = changes(before, after)
    arrived = arrived_parts(changed)
    altered = [
        (change.before, change)
        for change in changed
        if change.before is not None and change.after is not None
    ]
    earlier = history.changes(old, [was.key for was, _ in altered], depth, progress)
    sequences = recorded.sequences(rounds, git.identities())
    undone: list[Reversal] = []
    compared = 0
    intended = tuple(_CITED.findall(message))
    for was, change in altered:
        blocks = [*recorded.states(sequences.get(was.key, ()))]
        # A rejected round excuses the commit that made the same change, and no other one.
        rejected = [each.codes for each in changes_of(blocks, rejected=True)]
        by_commits = [each for each in earlier[was.key] if each.codes not in rejected]
        # Citing a commit cites the rounds that it took in, too.
        cited = {each.after.dense() for each in by_commits if each.name.startswith(intended)}
        kept = [each for each in changes_of(blocks) if each.after.dense() not in cited]
        compared += len(kept)
        # Commits, then rounds: a round says more, so it is reported instead of its commit.
        reports = reversals(change, [*by_commits, *kept], arrived)
        undone += (report for report in reports if not report.is_cited(intended))
    return CheckReport(
        undone=tuple(undone),
        definitions=len(altered),
        deleted=sum(change.after is None for change in changed),
        rounds=compared,
        commits=len({each.name for some in earlier.values() for each in some}),
        shallow=git.is_shallow(),
    )
