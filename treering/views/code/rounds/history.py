"""The past of a definition: its changes by commits and rounds, and the rounds of a branch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

from treering.errors import MissingExtra, UnknownName
from treering.records import Progress
from treering.views.code.parse.parts import read_definition
from treering.views.code.parse.pieces import CodePiece, dense, pieces
from treering.views.code.rounds.git import WORKING_TREE, Commit, Git
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.code.rounds.session import SessionBlock

DEPTH = 50
"""Commits read for each file: older fixes are seldom undone by accident, and reading commits takes
most of the time of a check."""

REJECTED = "rejected"
"""The outcome of a round that may be undone."""

_VERSIONS = 512  # parsed versions of files kept by one history

Origin = Literal["round", "commit"]


@dataclass(frozen=True, slots=True)
class EarlierChange:
    """The change of one definition by an earlier round or commit: its code before (if any) and
    after.

    ``name`` is the citation: a commit, or the id of a recorded block.
    """

    instruction: str
    name: str
    at: datetime | None
    origin: Origin
    before: CodePiece | None
    after: CodePiece

    @property
    def codes(self) -> tuple[str, str]:
        """The code before and after, without blank lines."""
        return self.before.dense() if self.before else "", self.after.dense()


def changes_of(blocks: Iterable[SessionBlock], *, rejected: bool = False) -> list[EarlierChange]:
    """The changes of one sequence of rounds, oldest first: the rejected ones, or the others."""
    history = []
    earlier: SessionBlock | None = None
    for block in blocks:
        if block.instruction and block.code and (block.outcome == REJECTED) == rejected:
            was = piece_of(earlier) if earlier is not None and earlier.code else None
            now = piece_of(block)
            history.append(EarlierChange(block.instruction, block.id, block.at, "round", was, now))
        earlier = block
    return history


def piece_of(block: SessionBlock) -> CodePiece:
    """The definition that a block left; its lines in the file are unknown."""
    name = block.definition
    runs = bool(name) and read_definition(block.code, name, block.language) is not None
    return CodePiece(block.path, name, block.language, block.code, is_function=runs)


class CommitHistory:
    """The commits of a repository, by definition. Each version of a file is parsed once."""

    def __init__(self, git: Git) -> None:
        self.git = git
        self._pieces = lru_cache(_VERSIONS)(pieces)
        self._commits = lru_cache(_VERSIONS)(git.history)

    def all_pieces(self, files: Mapping[str, str]) -> dict[str, CodePiece]:
        """The pieces of several files, given as texts by path, by their keys."""
        by_key: dict[str, CodePiece] = {}
        for path, text in files.items():
            by_key |= self._pieces(path, text)
        return by_key

    def changes(
        self,
        revision: str,
        keys: Iterable[str],
        depth: int = DEPTH,
        progress: Progress | None = None,
    ) -> dict[str, list[EarlierChange]]:
        """The changes of definitions by commits up to ``revision``, by present key."""
        by_path = defaultdict[str, list[str]](list)
        for key in keys:
            by_path[key.partition("::")[0]].append(key)
        histories: dict[str, list[EarlierChange]] = {}
        for done, (path, some) in enumerate(by_path.items(), start=1):
            histories |= self._changes_in(path, revision, some, depth)
            if progress is not None:
                progress(done, len(by_path))
        return histories

    def _changes_in(
        self, path: str, revision: str, keys: Sequence[str], depth: int
    ) -> dict[str, list[EarlierChange]]:
        histories: dict[str, list[EarlierChange]] = {key: [] for key in keys}
        commits = self._commits(revision, path, depth)
        texts = self.git.blobs([name for commit in commits for name in _blob_names(commit)])
        for commit in commits:
            earlier, later = _blob_names(commit)
            if later not in texts:
                continue
            before = self._pieces(commit.before, texts[earlier]) if earlier in texts else {}
            after = self._pieces(commit.path, texts[later])
            for key in keys:
                qualified = key.partition("::")[2]
                was = before.get(f"{commit.before}::{qualified}")
                now = after.get(f"{commit.path}::{qualified}")
                if now is not None and (was is None or was.dense() != now.dense()):
                    histories[key].append(
                        EarlierChange(commit.message, commit.sha, commit.at, "commit", was, now)
                    )
        return histories

    def codes(self, key: str) -> set[str]:
        """The code of a definition now and after each commit."""
        path = key.partition("::")[0]
        now = self._pieces(path, self.git.texts(WORKING_TREE, [path]).get(path, "")).get(key)
        then = (change.after for change in self.changes(self.git.head(), [key])[key])
        return {piece.dense() for piece in (now, *then) if piece}


def _blob_names(commit: Commit) -> tuple[str, str]:
    before = f"{commit.parent}:{commit.before}" if commit.parent and commit.before else ""
    return before, f"{commit.sha}:{commit.path}" if commit.path else ""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The names of a repository, and the branch that is checked out.

    All are empty for files without a folder. ``history`` is None for a folder outside git: the
    branch is then empty, and all rounds count.
    """

    names: tuple[str, ...] = ()
    branch: str = ""
    history: CommitHistory | None = None

    @classmethod
    def at(cls, folder: Path) -> Self:
        """The working tree around a folder, or the folder itself outside git."""
        try:
            return cls.from_git(Git.at(folder))
        except (UnknownName, MissingExtra):
            return cls((str(folder.resolve()),))

    @property
    def repository(self) -> str:
        """The name that rounds here are recorded under."""
        return self.names[0] if self.names else ""

    @classmethod
    def from_git(cls, git: Git) -> Self:
        """The working tree of a git repository."""
        return cls(git.identities(), git.branch(), CommitHistory(git))

    def rounds_here(self, key: str, sequence: Sequence[RecordedBlock]) -> list[RecordedBlock]:
        """The rounds on a definition that this branch has.

        These are its own rounds. Of another branch they are the rounds up to the last one whose
        code this branch has or had (it was merged, or this branch began after it), or whose files
        were carried over when this branch was checked out.
        """
        others = {record.block.branch for record in sequence} - {"", self.branch}
        if self.history is None or not others:
            return list(sequence)
        # An earlier round may know the definition by another name.
        keys = {key, *(record.block.key for record in sequence)}
        codes = set[str]().union(*(self.history.codes(each) for each in keys))
        carried = self.history.git.carried_over(self.branch)
        last: dict[str, int] = {}
        for place, record in enumerate(sequence):
            block, is_recorded = record.block, record.context is None  # else only generated
            left = carried.get(block.branch) if is_recorded else None
            if dense(block.code) in codes or (left and block.at and block.at < left):
                last[block.branch] = place
        return [
            record
            for place, record in enumerate(sequence)
            if record.block.branch not in others or place <= last.get(record.block.branch, -1)
        ]
