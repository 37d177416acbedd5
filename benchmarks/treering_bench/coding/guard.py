"""Would people leave `treering code check` switched on? False alarms and missed undos on a history.

Alarms: every commit is checked against the history before it; nearly all changes in a history are
meant, so an alarm counts as false, though some of them are true (a fix that was taken back).
Missed undos: of every function that a commit changed and of which something still stands at the end
of the range, that commit's change is taken out again, other changes since then staying (a
three-way merge, as ``git revert`` does it; where it conflicts, the function is left out). Where
nothing else has changed since, the function is again what it was, which is noticed by construction:
``among later changes`` counts the others. ``told`` is the share that is reported as undoing that
very commit, ``noticed`` the share that is reported at all; ``telling`` counts only commits that
brought a guard, an error, a branch, a default or a decorator.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from treering.errors import InputError
from treering.views.code.guard.check import ChangeCheck
from treering.views.code.guard.detector import reversals
from treering.views.code.guard.difference import Arrivals, behaviour_of
from treering.views.code.guard.rules import TELLING
from treering.views.code.parse.pieces import CodePiece, DefinitionChange, all_pieces
from treering.views.code.rounds.git import Git
from treering.views.code.rounds.history import CommitHistory, EarlierChange


def alarms(git: Git, commits: list[str], depth: int) -> dict[str, Any]:
    """How many commits would have been stopped, and how long a check takes."""
    check = ChangeCheck(git, {}, depth)
    stopped: list[str] = []
    definitions, times = 0, []
    for sha in commits:
        parent = git.parent(sha)
        if not parent:
            continue
        start = time.perf_counter()
        report = check.run(parent, sha, git.message(parent, sha))
        times.append(time.perf_counter() - start)
        definitions += report.definitions
        stopped += [sha] if report else []
    return {
        "commits": len(times),
        "definitions": definitions,
        "stopped": [sha[:9] for sha in stopped],
        "stopped share": round(len(stopped) / max(len(times), 1), 4),
        "seconds p50": round(statistics.median(times), 3),
        "seconds max": round(max(times), 3),
    }


@dataclass(frozen=True, slots=True)
class UndoneChange:
    """An earlier change taken out of a function, and whether the guard saw it."""

    later: bool
    """Whether other changes came after it."""
    telling: bool
    noticed: bool
    reported: bool


def undos(git: Git, head: str, depth: int) -> Iterator[UndoneChange]:
    """Every earlier change that still stands in part, taken out."""
    paths = [path for _, path in git.changed("", head)]
    commits = CommitHistory(git, depth)
    for key, piece in all_pieces(git.texts(head, paths)).items():
        history = commits.of(head, key) if piece.is_function else []
        for round_ in history:
            if round_.before is None or not _still_stands(round_, piece):
                continue
            code = taken_out(piece.code, round_.after.code, round_.before.code)
            if code is None:
                continue
            change = DefinitionChange(piece, replace(piece, code=code))
            undone = reversals(change, history, Arrivals.of([change]))
            yield UndoneChange(
                later=code != round_.before.code,
                telling=any(part.kind in TELLING for part in _brought(round_, piece)),
                noticed=bool(undone),
                reported=any(loss.name == round_.name for loss in undone),
            )


def taken_out(now: str, after: str, before: str) -> str | None:
    """``now`` without the change from ``before`` to ``after``; None where they conflict."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("now", "after", "before")]
        for file, text in zip(files, (now, after, before), strict=True):
            file.write_text(text + "\n")
        command = ["git", "merge-file", "-p", "--quiet", *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.removesuffix("\n") if done.returncode == 0 else None


def _brought(round_: EarlierChange, piece: CodePiece) -> Counter[Any]:
    """The behaviour that a change added and that ``piece`` still has."""
    return (behaviour_of(round_.after) - behaviour_of(round_.before)) & behaviour_of(piece)


def _still_stands(round_: EarlierChange, piece: CodePiece) -> bool:
    """Whether ``piece`` still has more of what the change added than the code before it had."""
    return bool(_brought(round_, piece) - behaviour_of(round_.before))


def shares(undone: list[UndoneChange]) -> dict[str, Any]:
    """The shares of undone changes that are noticed, and that are reported."""
    size = max(len(undone), 1)
    return {
        "undos": len(undone),
        "noticed": round(sum(change.noticed for change in undone) / size, 4),
        "told": round(sum(change.reported for change in undone) / size, 4),
    }


def figures(repository: Path, commits: str, depth: int) -> dict[str, Any]:
    """False alarms and missed undos on a range of commits."""
    git = Git.at(repository)
    shas = git.commits(commits)
    if not shas:
        raise InputError(f"{commits} holds no commit; name a range of those of {repository}")
    every = list(undos(git, shas[-1], depth))
    later = [change for change in every if change.later]
    return {
        "head": shas[-1],
        "alarms": alarms(git, shas, depth),
        "taken out": shares(every),
        "among later changes": shares(later),
        "among later changes, telling": shares([change for change in later if change.telling]),
    }
