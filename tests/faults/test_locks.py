"""File systems that refuse locks, or only say that they keep them: the kernel plays them."""

from __future__ import annotations

import errno
import platform
import sys
from pathlib import Path

import pytest

from tests import programs
from tests.faults.lockless import FCNTL
from tests.faults.processes import ROOT

if sys.platform != "linux" or platform.machine() not in FCNTL:
    pytest.skip("a filter of system calls needs Linux", allow_module_level=True)

GETLK, SETLK, SETLKW, OFD_GETLK, OFD_SETLK, OFD_SETLKW = "5", "6", "7", "36", "37", "38"
SETS = (SETLK, SETLKW, OFD_SETLK, OFD_SETLKW)
ALL = (GETLK, OFD_GETLK, *SETS)


def said(path: Path, moment: str, code: int, commands: tuple[str, ...]) -> str:
    """What a process says to which locks are refused; it has to end well within SQLite's minute."""
    command = [sys.executable, "-m", "tests.faults.lockless", str(path), moment, str(code)]
    done = programs.run(
        [*command, *commands], capture_output=True, text=True, timeout=40, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EIO, errno.EOPNOTSUPP])
@pytest.mark.parametrize("commands", [ALL, SETS])
def test_a_file_that_cannot_be_locked_is_refused_at_once(
    path: Path, code: int, commands: tuple[str, ...]
) -> None:
    answer = said(path, "opening", code, commands)
    assert answer.startswith("JournalError: "), answer
    assert "cannot be locked" in answer
    assert "keep it on a disk whose files can be" in answer


def test_so_is_one_whose_locks_are_granted_and_not_kept(path: Path) -> None:
    answer = said(path, "opening", 0, SETS)
    assert answer.startswith("JournalError: "), answer
    assert "cannot be locked" in answer


@pytest.mark.parametrize("commands", [ALL, SETS])
def test_nothing_is_acknowledged_once_locks_fail_and_the_error_says_so(
    path: Path, commands: tuple[str, ...]
) -> None:
    answer = said(path, "open", errno.ENOLCK, commands)
    assert answer.startswith("JournalError: "), answer
    assert "cannot be locked" in answer


def test_where_only_the_question_for_a_processs_own_locks_is_unknown_a_memory_works(
    path: Path,
) -> None:
    assert said(path, "opening", errno.EINVAL, (OFD_GETLK,)) == "Ana moved to Porto."
