"""``memory.code.check``: a change against the recorded rounds and the history in git."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from treering.errors import InputError
from treering.views.code.guard.difference import Arrivals
from treering.views.code.guard.report import Reversal, reversals
from treering.views.code.parse.pieces import DefinitionChange, changes
from treering.views.code.rounds.checkout import Checkout
from treering.views.code.rounds.git import STAGED, WORKING_TREE, Git
from treering.views.code.rounds.history import DEPTH, CommitHistory, EarlierChange, changes_of
from treering.views.code.rounds.recorded import RecordedBlock, sequences, states

_Histories = Mapping[str, Sequence[EarlierChange]]

_CITED = re.compile(r"\b[0-9a-f]{7,40}\b")


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a change would undo, and how much it was compared with.

    ``definitions`` is how many the change alters, ``deleted`` how many it deletes: these are not
    compared, for nobody loses a whole definition by accident. In a ``shallow`` clone neither older
    commits nor rounds recorded in a whole one are looked at.
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
    """What a change would undo of ``rounds`` rounds and of commits; see ``CodeMemory.check``."""
    if depth < 0:
        raise InputError(f"depth is {depth}; it must be at least 0", param="depth")
    if staged and commits:
        raise InputError("give staged or commits, not both")
    git = Git.at(root)
    comparison = ChangeCheck(git, rounds, depth)
    if commits is None:
        return comparison.run(git.head(), STAGED if staged else WORKING_TREE, message)
    old, new = git.ends(commits)
    return comparison.run(old, new, f"{message}\n{git.message(old, new)}")


class ChangeCheck:
    """One check of a change in a git repository. It reads and changes nothing."""

    def __init__(self, git: Git, rounds: Sequence[RecordedBlock], depth: int) -> None:
        self._git = git
        self._checkout = Checkout.of_git(git) if rounds else Checkout()
        self._known = sequences(rounds, self._checkout.names or None)
        self._history = CommitHistory(git, depth)

    def run(self, old: str, new: str, message: str = "") -> CheckReport:
        """Compare the change from one state to another with what came before it.

        What ``message`` cites by its commit or id is undone on purpose.
        """
        pairs = self._git.changed(old, new)
        before = self._history.all_pieces(self._git.texts(old, [path for path, _ in pairs if path]))
        after = self._history.all_pieces(self._git.texts(new, [path for _, path in pairs if path]))
        changed = changes(before, after)
        arrivals = Arrivals.collect(changed)
        altered = [
            change for change in changed if change.before is not None and change.after is not None
        ]
        commits = self._commits(old, altered)
        intended = tuple(_CITED.findall(message))
        rounds = {
            change.piece.key: _uncited(self._rounds(change), _of(commits, change), intended)
            for change in altered
        }
        reports = [
            report
            for change in altered
            # Commits, then rounds: these say more, so they are what is reported of both.
            for report in reversals(
                change, [*_of(commits, change), *rounds[change.piece.key]], arrivals
            )
        ]
        return CheckReport(
            undone=tuple(change for change in reports if not change.name.startswith(intended)),
            definitions=len(altered),
            deleted=sum(change.after is None for change in changed),
            rounds=sum(map(len, rounds.values())),
            commits=len({commit.name for some in commits.values() for commit in some}),
            shallow=self._git.is_shallow(),
        )

    def _rounds(self, change: DefinitionChange) -> list[EarlierChange]:
        """What recorded rounds did to a definition that changes."""
        assert change.before is not None
        key = change.before.key
        return changes_of(states(self._checkout.rounds_here(key, self._known.get(key, ()))))

    def _commits(self, old: str, altered: Iterable[DefinitionChange]) -> _Histories:
        keys_of: dict[str, set[str]] = {}
        for change in altered:
            if change.before is not None:
                keys_of.setdefault(change.before.path, set()).add(change.before.key)
        histories: dict[str, Sequence[EarlierChange]] = {}
        for path, keys in keys_of.items():
            histories |= self._history.of_file(old, path, keys)
        return histories


def _of(
    commits: Mapping[str, Sequence[EarlierChange]], change: DefinitionChange
) -> Sequence[EarlierChange]:
    assert change.before is not None
    return commits.get(change.before.key, ())


def _uncited(
    rounds: Sequence[EarlierChange], commits: Sequence[EarlierChange], intended: tuple[str, ...]
) -> list[EarlierChange]:
    """The rounds without those that a cited commit took in: citing the commit cites them too."""
    cited = {earlier.after.dense() for earlier in commits if earlier.name.startswith(intended)}
    return [earlier for earlier in rounds if earlier.after.dense() not in cited]
