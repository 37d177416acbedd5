"""Running ``git`` so that a repository's own settings start no program and no connection.

A repository may have come from anybody, with its ``.git``: in an archive, in a shared folder.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from treering.errors import InputError, MissingExtra

TIMEOUT_S = 60.0
"""No question asked here takes git longer, in a repository that it can serve at all."""

_QUIETLY = (
    *("--literal-pathspecs", "--no-optional-locks"),
    *("-c", "core.quotePath=false"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "log.showSignature=false"),
)
"""Names as they are (`[id].ts` is not a pattern), nothing written, and no program started that a
repository's own settings name."""

_OFFLINE = {
    # A partial clone fetches what it lacks. No transport is allowed, so that nothing can: older
    # versions of git know only the second of these.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
}

_FILTERING = "diff"
"""The command that passes files through the filters that attributes name."""

_OWN_SCOPES = frozenset({"local", "worktree"})
_UNFILTERED = {"clean": "", "smudge": "", "process": "", "required": "false"}


def run_git(folder: Path, *arguments: str, stdin: str = "") -> bytes | None:
    """The output of git; None if it fails. Raises InputError for texts that no process can get."""
    environment = {**os.environ, **_OFFLINE}
    if arguments[0] == _FILTERING:
        drivers = _filters_of_repository(folder, environment)
        if drivers is None:
            return None
        environment |= _without_filters(drivers, environment)
    return _run(folder, arguments, stdin, environment)


def _filters_of_repository(folder: Path, environment: Mapping[str, str]) -> list[str] | None:
    """The filters that the repository's own settings define; None if git fails.

    Those of the user's and the system's settings are the user's choice.
    """
    arguments = ("config", "--list", "--null", "--name-only", "--show-scope")
    reply = _run(folder, arguments, "", environment)
    if reply is None:
        return None
    words = reply.decode("utf-8", "surrogateescape").split("\0")
    names = (name for scope, name in zip(words[::2], words[1::2], strict=False)
             if scope in _OWN_SCOPES and name.startswith("filter."))  # fmt: skip
    return sorted({name.split(".", 1)[1].rpartition(".")[0] for name in names} - {""})


def _without_filters(drivers: list[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Settings in the environment, which override those of files: these filters do nothing.

    Not ``-c name=value``: a driver's name may hold an equals sign.
    """
    first = int(environment.get("GIT_CONFIG_COUNT") or 0)
    settings = [(f"filter.{driver}.{key}", value) for driver in drivers
                for key, value in _UNFILTERED.items()]  # fmt: skip
    variables = {"GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (key, value) in enumerate(settings, first):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _run(
    folder: Path, arguments: tuple[str, ...], stdin: str, environment: Mapping[str, str]
) -> bytes | None:
    command = ["git", "-C", str(folder), *_QUIETLY, *arguments]
    try:
        done = subprocess.run(
            command,
            input=stdin.encode(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            env=environment,
        )
    except FileNotFoundError as error:
        raise MissingExtra("the git command is not installed; install git") from error
    except ValueError as error:  # a NUL character, or half of a surrogate pair
        raise InputError(f"git {arguments[0]} cannot take this text: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise InputError(f"git {arguments[0]} took over {TIMEOUT_S:.0f} s in {folder}") from error
    return done.stdout if done.returncode == 0 else None
