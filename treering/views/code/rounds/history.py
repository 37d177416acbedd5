"""What earlier rounds and commits did to a definition: its code before and after each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from treering.views.code.parse.parts import read_definition
from treering.views.code.parse.pieces import CodePiece, pieces
from treering.views.code.rounds.git import Commit, Git
from treering.views.code.rounds.session import SessionBlock

DEPTH = 50
"""Commits looked at for each changed file: older fixes are seldom undone by accident, and reading
them is what a check takes its time for."""

REJECTED = "rejected"
"""The outcome of a round that may be undone."""

_VERSIONS = 512  # parsed versions of files kept while one check runs

Origin = Literal["round", "commit"]


@dataclass(frozen=True, slots=True)
class EarlierChange:
    """What an earlier round or commit did to one definition: its code before (if any) and after.

    ``name`` is how it is cited: a commit, or the id of a recorded block.
    """

    instruction: str
    name: str
    at: datetime | None
    origin: Origin
    before: CodePiece | None
    after: CodePiece


def changes_of(blocks: Iterable[SessionBlock]) -> list[EarlierChange]:
    """What the rounds of one sequence did, oldest first; those that were rejected do not count."""
    history = []
    earlier: SessionBlock | None = None
    for block in blocks:
        if block.instruction and block.code and block.outcome != REJECTED:
            was = piece_of(earlier) if earlier is not None and earlier.code else None
            now = piece_of(block)
            history.append(EarlierChange(block.instruction, block.id, block.at, "round", was, now))
        earlier = block
    return history


def piece_of(block: SessionBlock) -> CodePiece:
    """The definition that a block left; on which lines of its file is not known."""
    name = block.definition
    runs = bool(name) and read_definition(block.code, name, block.language) is not None
    return CodePiece(block.path, name, block.language, block.code, is_function=runs)


class CommitHistory:
    """What the last commits did to the definitions of each file; every version is read once."""

    def __init__(self, git: Git, depth: int) -> None:
        self._git = git
        self._depth = depth
        self._pieces = lru_cache(_VERSIONS)(pieces)

    def all_pieces(self, files: Mapping[str, str]) -> dict[str, CodePiece]:
        """The pieces of several files, given as texts by path, by their keys."""
        by_key: dict[str, CodePiece] = {}
        for path, text in files.items():
            by_key |= self._pieces(path, text)
        return by_key

    def of_file(self, revision: str, path: str, keys: set[str]) -> dict[str, list[EarlierChange]]:
        """What commits up to ``revision`` did to some definitions of a file, by their keys now."""
        commits = self._git.history(revision, path, self._depth)
        texts = self._git.blobs([name for commit in commits for name in _blob_names(commit)])
        histories: dict[str, list[EarlierChange]] = {key: [] for key in keys}
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
                    change = EarlierChange(
                        commit.message, commit.sha, commit.at, "commit", was, now
                    )
                    histories[key].append(change)
        return histories

    def of(self, revision: str, key: str) -> list[EarlierChange]:
        """What the commits up to ``revision`` did to one definition, oldest first."""
        path, _, _ = key.partition("::")
        return self.of_file(revision, path, {key}).get(key, [])


def _blob_names(commit: Commit) -> tuple[str, str]:
    """What git calls a file before and after a commit; empty where it was not there."""
    before = f"{commit.parent}:{commit.before}" if commit.parent and commit.before else ""
    return before, f"{commit.sha}:{commit.path}" if commit.path else ""
