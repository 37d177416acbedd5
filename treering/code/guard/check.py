"""``memory.code.check``: a change against the recorded rounds and the history in git."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from treering.code.guard.detector import reversals
from treering.code.guard.report import Reversal
from treering.code.guard.rules import Arrivals
from treering.code.parse.pieces import DefinitionChange, changes
from treering.code.rounds.git import STAGED, WORKING_TREE, Git
from treering.code.rounds.history import DEPTH, CommitHistory, EarlierChange, changes_of
from treering.code.rounds.recorded import RecordedBlock, states, within
from treering.errors import InputError

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
    deleted: int
    rounds: int
    commits: int
    shallow: bool

    def __bool__(self) -> bool:
        return bool(self.undone)


def check(
    root: Path,
    known: Mapping[str, Sequence[RecordedBlock]],
    *,
    staged: bool = False,
    commits: str | None = None,
    message: str = "",
    depth: int = DEPTH,
) -> CheckReport:
    """What a change would undo of ``known`` rounds and of commits; see ``CodeMemory.check``."""
    if depth < 0:
        raise InputError(f"depth is {depth}; it must be at least 0")
    if staged and commits:
        raise InputError("give staged or commits, not both")
    git = Git.at(root)
    one = ChangeCheck(git, within(known, git.identities()) if known else {}, depth)
    if commits is None:
        return one.run(git.head(), STAGED if staged else WORKING_TREE, message)
    old, new = git.ends(commits)
    return one.run(old, new, f"{message}\n{git.message(old, new)}")


class ChangeCheck:
    """One check of a change in a git repository. It reads and changes nothing."""

    def __init__(self, git: Git, known: Mapping[str, Sequence[RecordedBlock]], depth: int) -> None:
        self._git = git
        self._known = known
        self._history = CommitHistory(git, depth)

    def run(self, old: str, new: str, message: str = "") -> CheckReport:
        """Compare the change from one state to another with what came before it.

        What ``message`` cites by its commit or id is undone on purpose.
        """
        pairs = self._git.changed(old, new)
        before = self._history.all_pieces(self._git.texts(old, [path for path, _ in pairs if path]))
        after = self._history.all_pieces(self._git.texts(new, [path for _, path in pairs if path]))
        found = changes(before, after)
        arrivals = Arrivals.of(found)
        altered = [one for one in found if one.before is not None and one.after is not None]
        commits = self._commits(old, altered)
        intended = tuple(_CITED.findall(message))
        rounds = {
            one.piece.key: _uncited(self._rounds(one), _of(commits, one), intended)
            for one in altered
        }
        reports = [
            report
            for one in altered
            # Commits, then rounds: these say more, so they are what is reported of both.
            for report in reversals(one, [*_of(commits, one), *rounds[one.piece.key]], arrivals)
        ]
        return CheckReport(
            undone=tuple(one for one in reports if not one.name.startswith(intended)),
            definitions=len(altered),
            deleted=sum(one.after is None for one in found),
            rounds=sum(map(len, rounds.values())),
            commits=len({commit.name for some in commits.values() for commit in some}),
            shallow=self._git.is_shallow(),
        )

    def _rounds(self, change: DefinitionChange) -> list[EarlierChange]:
        """What recorded rounds did to a definition that changes."""
        assert change.before is not None
        return changes_of(states(self._known.get(change.before.key, ())))

    def _commits(self, old: str, altered: Iterable[DefinitionChange]) -> _Histories:
        wanted: dict[str, set[str]] = {}
        for one in altered:
            if one.before is not None:
                wanted.setdefault(one.before.path, set()).add(one.before.key)
        found: dict[str, Sequence[EarlierChange]] = {}
        for path, keys in wanted.items():
            found |= self._history.of_file(old, path, keys)
        return found


def _of(
    commits: Mapping[str, Sequence[EarlierChange]], change: DefinitionChange
) -> Sequence[EarlierChange]:
    assert change.before is not None
    return commits.get(change.before.key, ())


def _uncited(
    rounds: Sequence[EarlierChange], commits: Sequence[EarlierChange], intended: tuple[str, ...]
) -> list[EarlierChange]:
    """The rounds but for those that a cited commit took in: who cites one means the other."""
    cited = {one.after.dense() for one in commits if one.name.startswith(intended)}
    return [one for one in rounds if one.after.dense() not in cited]
