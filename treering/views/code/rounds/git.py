"""The knowledge of git about a working tree: the files that changed, their former texts, their
history.

A thin shell over the ``git`` command, which is the one implementation that reads every repository.
Nothing is ever written.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise
from pathlib import Path
from typing import Self

from treering import files
from treering.errors import UnknownName
from treering.views.code.parse.language import language_of
from treering.views.code.parse.source_files import decode_source, is_passed_over
from treering.views.code.rounds.git_command import run_git

WORKING_TREE = ""
"""Stands for the files on disk where a revision is expected; ``STAGED`` for those in the index."""
STAGED = ":"

_RENAMES = ("-M", "-z", "--name-status", "--no-ext-diff", "--ignore-submodules=all")
"""A submodule is passed over: to compare it, git would run what its own settings name."""
_COMMIT = "--format=%H%x00%P%x00%ct%x00%B%x00"  # NUL: no message and no path can hold it
_STATUS = re.compile(r"\n?([A-Z])\d*")
_MOVED = re.compile(r"checkout: moving from (\S+) to (\S+)")
_MOVES = 1_000  # moves of HEAD that are read


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as it touched one file; ``parent`` is empty for the first one.

    ``before`` and ``path`` are the file's paths in the parent and in the commit, empty where it
    was not there.
    """

    sha: str
    parent: str
    at: datetime
    message: str
    before: str
    path: str


class Git:
    """The repository around a folder; paths are relative to its top, with slashes."""

    def __init__(self, top: Path) -> None:
        self.top = top

    @classmethod
    def at(cls, folder: Path) -> Self:
        """The repository that ``folder`` is in. Raises UnknownName, MissingExtra."""
        if not folder.is_dir():
            raise UnknownName(f"{folder} is not a folder; give the root of a repository")
        top = run_git(folder, "rev-parse", "--show-toplevel")
        if top is None:
            place = "the current folder" if folder == Path() else folder
            raise UnknownName(
                f"git finds no repository around {place}; to make one, run `git init`; to use one "
                "of another user, run `git config --global --add safe.directory FOLDER`"
            )
        root = Path(top.decode().rstrip("\n"))
        if not _is_of_its_folder(root, folder):
            raise UnknownName(
                f"the repository around {folder} says that its files lie in {root}, which is not "
                "its folder; take core.worktree out of its settings"
            )
        return cls(root)

    def places(self) -> Iterator[Path]:
        """Where git reads this repository: its files, its stores, and the links in those.

        Raises UnknownName for a store whose name git writes in quotes.
        """
        yield self.top
        stores = {
            self.top / self._store_path("--git-dir"),
            self.top / self._store_path("--git-common-dir"),
        }
        for line in self._must("count-objects", "-v").split(b"\n"):
            key, _, path = line.partition(b": ")
            if path.startswith(b'"'):
                raise UnknownName(
                    f"the alternates of {self.top} have a name with control characters"
                )
            if key == b"alternate":
                stores.add(self.top / os.fsdecode(path))
        yield from stores
        for store in stores:
            for folder, *names in os.walk(store):
                inside = (Path(folder, name) for name in chain(*names))
                yield from (path for path in inside if path.is_symlink())

    def _store_path(self, option: str) -> str:
        return os.fsdecode(self._must("rev-parse", option).removesuffix(b"\n"))

    def resolve(self, revision: str) -> str:
        """The commit that a revision names. Raises UnknownName."""
        name = f"{revision}^{{commit}}"
        commit = self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", name)
        if commit is None:
            raise UnknownName(f"git knows no commit {revision!r}")
        return commit.decode().strip()

    def head(self) -> str:
        """The commit that is checked out; empty in a repository without one."""
        commit = self._ask("rev-parse", "--verify", "--quiet", "HEAD")
        return commit.decode().strip() if commit else ""

    def branch(self) -> str:
        """The branch that is checked out, or the commit where none is."""
        name = self._ask("symbolic-ref", "--short", "--quiet", "HEAD")
        return name.decode().strip() if name else self.head()

    def carried_over(self, branch: str) -> dict[str, datetime]:
        """When each branch was left for ``branch`` at the same commit, the last time.

        Its uncommitted files then became files of ``branch``. Read from the reflog of HEAD.
        """
        reply = self._ask("log", "--walk-reflogs", "--date=unix", "--format=%H%x00%gd%x00%gs%x00",
                          f"--max-count={_MOVES}", "HEAD", "--")  # fmt: skip
        words = [word.strip() for word in (reply or b"").decode(errors="replace").split("\0")]
        moves = list(zip(words[::3], words[1::3], words[2::3], strict=False))
        left: dict[str, datetime] = {}
        for (commit, when, move), (before, _, _) in reversed(list(pairwise(moves))):
            if (names := _MOVED.fullmatch(move)) and names[2] == branch and commit == before:
                second = int(when.rpartition("{")[2].rstrip("}"))
                left[names[1]] = datetime.fromtimestamp(second, UTC) + timedelta(seconds=1)
        return left

    def identities(self) -> tuple[str, ...]:
        """The names of this repository: its first commit, if it is known, and its folder.

        The first commit stays when a repository is moved, cloned or checked out twice. A shallow
        clone does not have it.
        """
        reply = self._ask("rev-list", "--max-parents=0", "--first-parent", "HEAD", "--")
        commits = [] if self.is_shallow() else (reply or b"").decode().split()
        return (*commits, str(self.top))

    def is_shallow(self) -> bool:
        """Whether the history has been cut off, so that the first commit is not known."""
        return self._ask("rev-parse", "--is-shallow-repository") == b"true\n"

    def changed_paths(self, old: str, new: str) -> list[tuple[str, str]]:
        """Source files that differ: the paths before and after, empty for an absent file.

        ``new`` may be ``WORKING_TREE``, which has the untracked files, or ``STAGED``.
        """
        if not old:
            tracked = _zero_terminated(self._must("ls-files", "--cached", "-z"))
            others = self._untracked_paths() if new == WORKING_TREE else []
            return [("", path) for path in sorted({*tracked, *others}) if language_of(path)]
        sides = [old, *([new] if new not in (WORKING_TREE, STAGED) else [])]
        cached = ["--cached"] if new == STAGED else []
        reply = self._must("diff", *_RENAMES, *cached, *sides, "--")
        pairs = list(_statuses(_zero_terminated(reply)))
        if new == WORKING_TREE:
            pairs += [("", path) for path in self._untracked_paths()]
        return [pair for pair in pairs if any(language_of(path) for path in pair)]

    def texts(self, revision: str, paths: Sequence[str]) -> dict[str, str]:
        """The texts of the files that exist at a revision, by path."""
        if revision == WORKING_TREE:
            named = ((path, self.top / path) for path in paths)
            there = ((path, file) for path, file in named if _is_within(self.top, file))
            return {path: decode_source(path, files.read_bytes(file)) for path, file in there}
        names = [f"{'' if revision == STAGED else revision}:{path}" for path in paths]
        blobs = self.blobs(names)
        return {path: blobs[name] for path, name in zip(paths, names, strict=True) if name in blobs}

    def blobs(self, names: Sequence[str]) -> dict[str, str]:
        """The texts of existing blobs by ``REVISION:PATH``."""
        asked = [name for name in dict.fromkeys(names) if name and "\n" not in name]
        reply = self._must("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in asked))
        texts: dict[str, str] = {}
        at = 0
        for name in asked:
            end = reply.index(b"\n", at)
            head, at = reply[at:end].decode(errors="replace").rsplit(" ", 2), end + 1
            if head[-1].isdecimal() and len(head) == 3:
                size = int(head[-1])
                texts[name] = decode_source(name, reply[at : at + size])
                at += size + 1
        return texts

    def history(self, revision: str, path: str, depth: int) -> list[Commit]:
        """The last ``depth`` commits up to ``revision`` that touched a file, oldest first.

        Renames of the file are followed; merges are left out.
        """
        if not revision:
            return []
        limits = (f"--max-count={depth}", "--no-merges", "--follow")
        reply = self._must("log", _COMMIT, *_RENAMES, *limits, revision, "--", path)
        return [*_commits(reply)][::-1]

    def last_commit_time(self, revision: str, path: str) -> datetime | None:
        """When a file was last committed; None if it never was."""
        stamp = self._must("log", "--max-count=1", "--format=%ct", revision, "--", path)
        return datetime.fromtimestamp(int(stamp), UTC) if stamp.strip() else None

    def message(self, old: str, new: str) -> str:
        """The messages of the commits after ``old`` up to ``new``, newest first."""
        return self._must("log", "--format=%B", f"{old}..{new}", "--").decode(errors="replace")

    def ends(self, commits: str) -> tuple[str, str]:
        """The commits that a range goes from and to: ``A..B``, ``A...B`` or ``A`` to HEAD.

        Of three dots the first end is where both parted. Raises UnknownName.
        """
        first, dots, last = commits.partition("..")
        old, new = self.resolve(first or "HEAD"), self.resolve(last.lstrip(".") or "HEAD")
        if dots and last.startswith("."):
            base = self._ask("merge-base", old, new)
            if base is None:
                raise UnknownName(f"{commits!r}: these commits lack a common ancestor")
            old = base.decode().strip()
        return old, new

    def _untracked_paths(self) -> list[str]:
        others = self._must("ls-files", "--others", "--exclude-standard", "-z")
        return [path for path in _zero_terminated(others) if not is_passed_over(path)]

    def _ask(self, *arguments: str) -> bytes | None:
        return run_git(self.top, *arguments)

    def _must(self, *arguments: str, stdin: str = "") -> bytes:
        reply = run_git(self.top, *arguments, stdin=stdin)
        if reply is None:
            raise UnknownName(
                f"git {arguments[0]} failed in {self.top}; is the repository whole? Nothing is "
                "fetched here: a partial clone gets the rest by `git fetch --refetch --no-filter`"
            )
        return reply


def _is_of_its_folder(root: Path, folder: Path) -> bool:
    """Whether a repository's files lie where it lies itself, and ``folder`` is among them.

    Its own settings may name any other folder, whose files nobody meant to show. A user who names
    one by ``$GIT_WORK_TREE`` means it.
    """
    if "GIT_WORK_TREE" in os.environ:
        return True
    return folder.resolve().is_relative_to(root.resolve()) and (root / ".git").exists()


def _is_within(root: Path, file: Path) -> bool:
    """Whether it is a plain file below a folder; its path may come from a diff or an import.

    The memory itself, which must not be read, is not one.
    """
    inside = file.is_file() and file.resolve().is_relative_to(root.resolve())
    return inside and not files.is_memory(file)


def _zero_terminated(reply: bytes) -> Iterator[str]:
    return (word.decode(errors="replace") for word in reply.split(b"\0") if word)


def _statuses(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Paths before and after from the words of ``--name-status -z``."""
    left = iter(words)
    for status in left:
        if status[0] in "RC":
            old, new = next(left), next(left)
            yield (old if status[0] == "R" else "", new)
        else:
            path = next(left)
            yield ("" if status[0] == "A" else path, "" if status[0] == "D" else path)


def _commits(reply: bytes) -> Iterator[Commit]:
    """Parse the output of ``git log`` for a file: ``_COMMIT`` and one status each."""
    words = deque(reply.decode(errors="replace").split("\0"))
    while len(words) > _COMMIT.count("%x00"):
        sha, parents, stamp, message, _ = (words.popleft() for _ in range(5))
        before, path = "", ""
        if words and (status := _STATUS.fullmatch(words[0])):
            words.popleft()
            names = [words.popleft() for _ in range(2 if status[1] in "RC" else 1)]
            ((before, path),) = _statuses([status[1], *names])
        yield Commit(
            sha=sha,
            parent=parents.partition(" ")[0],
            at=datetime.fromtimestamp(int(stamp), UTC),
            message=message.strip(),
            before=before,
            path=path,
        )
