"""``memory.code.check``: a change against the recorded rounds and the history in git."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from treering.errors import InputError
from treering.records import Progress
from treering.views.code.guard.report import Reversal, reversals
from treering.views.code.guard.rules import arrived_parts
from treering.views.code.parse.pieces import changes
from treering.views.code.rounds import recorded
from treering.views.code.rounds.git import STAGED, WORKING_TREE, Git
from treering.views.code.rounds.history import DEPTH, CommitHistory, EarlierChange, changes_of
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
    by_path = defaultdict[str, list[str]](list)
    for was, _ in altered:
        by_path[was.path].append(was.key)
    earlier = dict[str, list[EarlierChange]]()
    for done, keys in enumerate(by_path.values(), start=1):
        earlier |= history.changes(old, keys, depth)
        if progress is not None:
            progress(done, len(by_path))
    sequences = recorded.sequences(rounds, git.identities())
    undone: list[Reversal] = []
    compared = 0
    intended = tuple(_CITED.findall(message))
    for was, change in altered:
        by_commits = earlier[was.key]
        # Citing a commit cites the rounds that it took in, too.
        cited = {each.after.dense() for each in by_commits if each.name.startswith(intended)}
        by_rounds = changes_of(recorded.states(sequences.get(was.key, ())))
        kept = [each for each in by_rounds if each.after.dense() not in cited]
        compared += len(kept)
        # Commits, then rounds: a round says more, so it is reported instead of its commit.
        reports = reversals(change, [*by_commits, *kept], arrived)
        undone += (report for report in reports if not report.name.startswith(intended))
    return CheckReport(
        undone=tuple(undone),
        definitions=len(altered),
        deleted=sum(change.after is None for change in changed),
        rounds=compared,
        commits=len({each.name for some in earlier.values() for each in some}),
        shallow=git.is_shallow(),
    )
