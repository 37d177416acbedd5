"""``memory.code.check``: a change against the recorded rounds and the history in git."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from treering.errors import InputError
from treering.views.code.guard.report import Reversal, reversals
from treering.views.code.guard.rules import Arrivals
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
        comparison = ChangeCheck(checkout, rounds, depth)
        return comparison.run(git.head(), STAGED if staged else WORKING_TREE, message)
    old, new = git.ends(commits)
    checkout = replace(checkout, branch=git.branch_of_range(commits), revision=new)
    comparison = ChangeCheck(checkout, rounds, depth)
    return comparison.run(old, new, f"{message}\n{git.message(old, new)}")


class ChangeCheck:
    """One check of a change in a git repository. It reads and changes nothing."""

    def __init__(self, checkout: Checkout, rounds: Sequence[RecordedBlock], depth: int) -> None:
        assert checkout.history is not None  # the caller found a repository
        self._history = checkout.history
        self._checkout = checkout
        self._sequences = recorded.sequences(rounds, checkout.names)
        self._depth = depth

    def run(self, old: str, new: str, message: str = "") -> CheckReport:
        """Compare the change from one state to another with the changes before it.

        A commit or id that ``message`` cites is undone on purpose.
        """
        git = self._history.git
        pairs = git.changed_paths(old, new)
        before = self._history.all_pieces(git.texts(old, [path for path, _ in pairs if path]))
        after = self._history.all_pieces(git.texts(new, [path for _, path in pairs if path]))
        changed = changes(before, after)
        arrivals = Arrivals.collect(changed)
        altered = [
            (change.before.key, change)
            for change in changed
            if change.before is not None and change.after is not None
        ]
        intended = tuple(_CITED.findall(message))
        commits = self._commits(old, [key for key, _ in altered])
        rounds = {
            key: _without_cited(self._rounds(key), commits[key], intended) for key, _ in altered
        }
        reports = [
            report
            for key, change in altered
            # Commits, then rounds: a round says more, so it is reported instead of its commit.
            for report in reversals(change, [*commits[key], *rounds[key]], arrivals)
        ]
        return CheckReport(
            undone=tuple(report for report in reports if not report.name.startswith(intended)),
            definitions=len(altered),
            deleted=sum(change.after is None for change in changed),
            rounds=sum(map(len, rounds.values())),
            commits=len({commit.name for some in commits.values() for commit in some}),
            shallow=git.is_shallow(),
        )

    def _rounds(self, key: str) -> list[EarlierChange]:
        sequence = self._checkout.rounds_here(key, self._sequences.get(key, ()))
        return changes_of(recorded.states(sequence))

    def _commits(self, old: str, altered: Iterable[str]) -> dict[str, list[EarlierChange]]:
        keys_of: defaultdict[str, list[str]] = defaultdict(list)
        for key in altered:
            keys_of[key.partition("::")[0]].append(key)
        histories: dict[str, list[EarlierChange]] = {}
        for keys in keys_of.values():
            histories |= self._history.changes(old, keys, self._depth)
        return histories


def _without_cited(
    rounds: Sequence[EarlierChange], commits: Sequence[EarlierChange], intended: tuple[str, ...]
) -> list[EarlierChange]:
    """The rounds but for those of a cited commit: citing the commit cites them, too."""
    cited = {earlier.after.dense() for earlier in commits if earlier.name.startswith(intended)}
    return [earlier for earlier in rounds if earlier.after.dense() not in cited]
