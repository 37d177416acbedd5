"""Would people leave `treering code check` switched on? False alarms and missed undos on a history.

    python benchmarks/code_guard.py REPOSITORY [--commits main~100..main] [--depth 50]

Alarms: every commit is checked against the history before it; nearly all changes in a history are
meant, so an alarm counts as false, though some of them are true (a fix that was taken back).
Missed undos: for every function that a commit changed and of which something still stands at the
end of the range, the version before that commit is put back in its place, as a model does that
rewrites from an old text. ``told`` is the share that is reported as undoing that very commit,
``noticed`` the share that is reported at all; ``telling`` counts only commits that brought a guard,
an error, a branch, a default or a decorator. Prints one JSON object; nothing is written.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from treering.code.changes import DefinitionChange, Piece, all_pieces
from treering.code.check import DEPTH, Check
from treering.code.git import Git
from treering.code.guard import TELLING, Brought, arrivals, parts_of, undone


def alarms(git: Git, commits: list[str], depth: int) -> dict[str, Any]:
    """How many commits would have been stopped, and how long a check takes."""
    check = Check(git, {}, depth)
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


def undos(git: Git, head: str, depth: int) -> Iterator[tuple[bool, bool, bool]]:
    """For every earlier version put back: is it telling, noticed, and told?"""
    paths = [path for _, path in git.changed("", head)]
    check = Check(git, {}, depth)
    for key, piece in all_pieces(git.texts(head, paths)).items():
        history = check.history(head, key) if piece.is_function else []
        for round_ in history:
            if round_.before is None or not _still_stands(round_, piece):
                continue
            old = replace(round_.before, path=piece.path, qualified=piece.qualified)
            change = DefinitionChange(piece, old)
            found = undone(change, history, arrivals([change]))
            telling = any(part.kind in TELLING for part in _brought(round_, piece))
            yield telling, bool(found), any(one.name == round_.name for one in found)


def _brought(round_: Brought, piece: Piece) -> Counter[Any]:
    return (parts_of(round_.after) - parts_of(round_.before)) & parts_of(piece)


def _still_stands(round_: Brought, piece: Piece) -> bool:
    return bool(_brought(round_, piece) - parts_of(round_.before))


def shares(found: list[tuple[bool, bool, bool]]) -> dict[str, Any]:
    """The shares of what was put back that is noticed and told."""
    size = max(len(found), 1)
    noticed, told = sum(n for _, n, _ in found), sum(t for *_, t in found)
    return {
        "undos": len(found),
        "noticed": round(noticed / size, 4),
        "told": round(told / size, 4),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", default="HEAD", help="a range of commits")
    parser.add_argument("--depth", type=int, default=DEPTH, help="commits of each file")
    options = parser.parse_args()
    git = Git.at(options.repository)
    commits = git.commits(options.commits)
    put_back = list(undos(git, commits[-1], options.depth))
    report = {
        "head": commits[-1],
        "alarms": alarms(git, commits, options.depth),
        "put back": shares(put_back),
        "put back, telling": shares([one for one in put_back if one[0]]),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
