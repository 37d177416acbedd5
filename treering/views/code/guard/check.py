"""``memory.code.check``: a change against the recorded rounds and the history in git."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from treering.errors import InputError
from treering.views.code.guard.report import Reversal, reversals
from treering.views.code.guard.rules import arrived_parts
from treering.views.code.parse.pieces import changes
from treering.views.code.rounds import recorded
from treering.views.code.rounds.git import STAGED, WORKING_TREE, Git
from treering.views.code.rounds.history import DEPTH, Checkout, EarlierChange, changes_of
from treering.views.code.rounds.recorded import RecordedBlock

_CITED = re.compile(r"\b[0-9a-f]{7,40}\b")


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
) -> CheckReport:
    """Report which of ``rounds`` and of the last commits a change undoes; see
    ``CodeMemory.check``."""
    if depth < 0:
        raise InputError(f"depth is {depth}; it must be at least 0", param="depth")
    if staged and commits:
        raise InputError("give staged or commits, not both")
    git = Git.at(root)
    checkout = Checkout.from_git(git)
    if commits is None:
        old, new = git.head(), STAGED if staged else WORKING_TREE
    else:
        old, new = git.ends(commits)
        message = f"{message}\n{git.message(old, new)}"
    return _check(checkout, rounds, old, new, message, depth)


def _check(
    checkout: Checkout,
    rounds: Sequence[RecordedBlock],
    old: str,
    new: str,
    message: str,
    depth: int,
) -> CheckReport:
    """Compare the change from one state to another with the changes before it.

    A commit or id that ``message`` cites is undone on purpose.
    """
    history = checkout.history
    assert history is not None  # it is a git repository
    git = history.git
    pairs = git.changed_paths(old, new)
    before = history.all_pieces(git.texts(old, [path for path, _ in pairs if path]))
    after = history.all_pieces(git.texts(new, [path for _, path in pairs if path]))
    changed = changes(before, after)
    arrived = arrived_parts(changed)
    altered = [
        (change.before.key, change)
        for change in changed
        if change.before is not None and change.after is not None
    ]
    earlier: dict[str, list[EarlierChange]] = {}
    for _, some in groupby(sorted(key for key, _ in altered), lambda key: key.partition("::")[0]):
        earlier |= history.changes(old, list(some), depth)
    sequences = recorded.sequences(rounds, checkout.names)
    undone: list[Reversal] = []
    compared = 0
    intended = tuple(_CITED.findall(message))
    for key, change in altered:
        # Citing a commit cites the rounds that it took in, too.
        cited = {each.after.dense() for each in earlier[key] if each.name.startswith(intended)}
        here = recorded.states(sequences.get(key, ()))
        kept = [each for each in changes_of(here) if each.after.dense() not in cited]
        compared += len(kept)
        # Commits, then rounds: a round says more, so it is reported instead of its commit.
        reports = reversals(change, [*earlier[key], *kept], arrived)
        undone += (report for report in reports if not report.name.startswith(intended))
    return CheckReport(
        undone=tuple(undone),
        definitions=len(altered),
        deleted=sum(change.after is None for change in changed),
        rounds=compared,
        commits=len({each.name for some in earlier.values() for each in some}),
        shallow=git.is_shallow(),
    )
