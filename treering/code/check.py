"""``memory.code.check``: a change against the recorded rounds and the history in git."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from treering.code.changes import DefinitionChange, all_pieces, changes, pieces
from treering.code.details import Come
from treering.code.git import STAGED, WORKING_TREE, Commit, Git
from treering.code.guard import Brought, Undone, arrivals, brought
from treering.code.left_out import told
from treering.code.recorded import Recorded, sequence, within
from treering.errors import InputError

DEPTH = 50
"""Commits looked at for each changed file: older fixes are seldom undone by accident, and reading
them is what a check takes its time for."""

_CITED = re.compile(r"\b[0-9a-f]{7,40}\b")
_VERSIONS = 512  # parsed versions of files kept while one check runs


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a change would undo, and how much it was compared with.

    In a ``shallow`` clone this is neither older commits nor rounds recorded in a whole one.
    """

    undone: tuple[Undone, ...]
    definitions: int
    rounds: int
    commits: int
    shallow: bool

    def __bool__(self) -> bool:
        return bool(self.undone)


def check(
    root: Path,
    known: Mapping[str, Sequence[Recorded]],
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
    one = Check(git, within(known, git.identities()) if known else {}, depth)
    if commits is None:
        return one.run(git.head(), STAGED if staged else WORKING_TREE, message)
    old, new = git.ends(commits)
    return one.run(old, new, f"{message}\n{git.message(old, new)}")


class Check:
    """One check of a change in a git repository. It reads and changes nothing."""

    def __init__(self, git: Git, known: Mapping[str, Sequence[Recorded]], depth: int) -> None:
        self._git = git
        self._known = known
        self._depth = depth
        self._pieces = lru_cache(_VERSIONS)(pieces)

    def run(self, old: str, new: str, message: str = "") -> CheckReport:
        """Compare the change from one state to another with what came before it.

        What ``message`` cites by its commit or id is undone on purpose.
        """
        pairs = self._git.changed(old, new)
        before = all_pieces(self._git.texts(old, [path for path, _ in pairs if path]))
        after = all_pieces(self._git.texts(new, [path for _, path in pairs if path]))
        found = changes(before, after)
        moved, fine = arrivals(found), Come.of(found)
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
            for report in told(one, [*_of(commits, one), *rounds[one.piece.key]], moved, fine)
        ]
        return CheckReport(
            undone=tuple(one for one in reports if not one.name.startswith(intended)),
            definitions=len(altered),
            rounds=sum(map(len, rounds.values())),
            commits=len({commit.name for some in commits.values() for commit in some}),
            shallow=self._git.is_shallow(),
        )

    def history(self, revision: str, key: str) -> list[Brought]:
        """What the commits up to ``revision`` did to one definition, oldest first."""
        path, _, _ = key.partition("::")
        return self._of_file(revision, path, {key}).get(key, [])

    def _rounds(self, change: DefinitionChange) -> list[Brought]:
        """What recorded rounds did to a definition that changes."""
        assert change.before is not None
        return brought(sequence(self._known.get(change.before.key, ())))

    def _commits(self, old: str, altered: Iterable[DefinitionChange]) -> dict[str, list[Brought]]:
        wanted: dict[str, set[str]] = {}
        for one in altered:
            if one.before is not None:
                wanted.setdefault(one.before.path, set()).add(one.before.key)
        found: dict[str, list[Brought]] = {}
        for path, keys in wanted.items():
            found |= self._of_file(old, path, keys)
        return found

    def _of_file(self, revision: str, path: str, keys: set[str]) -> dict[str, list[Brought]]:
        """What the commits of a file did to some of its definitions, by their keys now."""
        commits = self._git.history(revision, path, self._depth)
        texts = self._git.blobs([name for one in commits for name in _names(one)])
        found: dict[str, list[Brought]] = {key: [] for key in keys}
        for commit in commits:
            earlier, later = _names(commit)
            if later not in texts:
                continue
            before = self._pieces(commit.before, texts[earlier]) if earlier in texts else {}
            after = self._pieces(commit.path, texts[later])
            for key in keys:
                qualified = key.partition("::")[2]
                was = before.get(f"{commit.before}::{qualified}")
                now = after.get(f"{commit.path}::{qualified}")
                if now is not None and (was is None or was.dense() != now.dense()):
                    found[key].append(
                        Brought(commit.message, commit.sha, commit.at, "commit", was, now)
                    )
        return found


def _names(commit: Commit) -> tuple[str, str]:
    """What git calls a file before and after a commit; empty where it was not there."""
    before = f"{commit.parent}:{commit.before}" if commit.parent and commit.before else ""
    return before, f"{commit.sha}:{commit.path}" if commit.path else ""


def _of(commits: Mapping[str, Sequence[Brought]], change: DefinitionChange) -> Sequence[Brought]:
    assert change.before is not None
    return commits.get(change.before.key, ())


def _uncited(
    rounds: Sequence[Brought], commits: Sequence[Brought], intended: tuple[str, ...]
) -> list[Brought]:
    """The rounds but for those that a cited commit took in: who cites one means the other."""
    cited = {one.after.dense() for one in commits if one.name.startswith(intended)}
    return [one for one in rounds if one.after.dense() not in cited]
