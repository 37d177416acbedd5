"""A working tree with its branch, and the recorded rounds that its code rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from treering.errors import MissingExtra, UnknownName
from treering.views.code.parse.pieces import dense, pieces
from treering.views.code.rounds import recorded
from treering.views.code.rounds.git import WORKING_TREE, Git
from treering.views.code.rounds.history import DEPTH, CommitHistory
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.code.rounds.session import RepositoryNames


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where code is worked on: the names of the repository, and the branch.

    Both are empty where files are given without a folder. ``git`` is None where git knows nothing
    of the folder; the branch is then empty, and all rounds count.
    """

    names: RepositoryNames = ()
    branch: str = ""
    git: Git | None = None

    @classmethod
    def at(cls, folder: Path) -> Self:
        """The working tree around a folder, or the folder itself where git knows none."""
        try:
            return cls.of_git(Git.at(folder))
        except (UnknownName, MissingExtra):
            return cls((str(folder.resolve()),))

    @classmethod
    def of_git(cls, git: Git) -> Self:
        """The working tree of a git repository."""
        return cls(git.identities(), git.branch(), git)

    def sequences(
        self, every: Iterable[RecordedBlock], paths: Collection[str]
    ) -> dict[str, list[RecordedBlock]]:
        """Return the sequences of the repository by key: in ``paths`` with this branch's rounds
        alone, elsewhere with the rounds of all branches.
        """
        sequences = recorded.sequences(every, self.names or None)
        here = {
            key: self.rounds_here(key, sequence) if key.partition("::")[0] in paths else sequence
            for key, sequence in sequences.items()
        }
        return {key: sequence for key, sequence in here.items() if sequence}

    def rounds_here(self, key: str, sequence: Sequence[RecordedBlock]) -> list[RecordedBlock]:
        """The rounds on a definition that this branch has.

        They are its own, and those of another branch up to the last one whose code this branch
        holds or held: it was merged, or this branch began after it.
        """
        elsewhere = {record.block.branch for record in sequence} - {"", self.branch}
        if self.git is None or not elsewhere:
            return list(sequence)
        # An earlier round may be on the definition by another name.
        keys = {key, *(record.block.key for record in sequence)}
        codes = set[str]().union(*(self._codes(self.git, each) for each in keys))
        last = {
            record.block.branch: place
            for place, record in enumerate(sequence)
            if dense(record.block.code) in codes
        }
        return [
            record
            for place, record in enumerate(sequence)
            if record.block.branch not in elsewhere or place <= last.get(record.block.branch, -1)
        ]

    def _codes(self, git: Git, key: str) -> set[str]:
        """The code of a definition in the working tree and after each commit of this branch."""
        path = key.partition("::")[0]
        text = git.texts(WORKING_TREE, [path]).get(path, "")
        now = pieces(path, text).get(key)
        then = CommitHistory(git, DEPTH).of(git.head(), key)
        states = [*([now] if now else []), *(change.after for change in then)]
        return {piece.dense() for piece in states}
