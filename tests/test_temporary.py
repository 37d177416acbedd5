"""Files with texts of users while they are written, and after their process was killed."""

from __future__ import annotations

import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from tests import programs
from treering.temporary import private_file, private_folder

TIMEOUT_S = 60
KILLED = """
import os, signal, sys
from pathlib import Path
from treering.temporary import private_file
with private_file(Path(sys.argv[1])) as stream:
    stream.write("Words.")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes there")


def test_nobody_else_may_read_a_file_while_it_is_written(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with private_file(tmp_path / "all.jsonl") as stream:
            stream.write("Words.")
            [folder] = tmp_path.iterdir()
            [part] = folder.iterdir()
            modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, part)]
    finally:
        os.umask(before)
    assert modes == [0o700, 0o600]
    [file] = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text("utf-8") == "Words."


def test_a_file_that_fails_leaves_the_one_before_it(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    file.write_text("Before.")
    with pytest.raises(ZeroDivisionError), private_file(file):
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["all.jsonl"]
    assert file.read_text() == "Before."


def test_what_a_killed_process_wrote_goes_with_the_next_file_of_the_name(tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    done = programs.run([sys.executable, "-c", KILLED, str(file)], timeout=TIMEOUT_S)
    assert done.returncode == -signal.SIGKILL
    [left] = tmp_path.iterdir()
    with private_folder(tmp_path, ".another.") as other, private_file(file) as stream:
        assert not left.exists()
        with private_file(file):  # what is at work is left alone
            assert other.exists()
            stream.write("Words.")
    assert [path.name for path in tmp_path.iterdir()] == ["all.jsonl"]
