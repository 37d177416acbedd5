"""A program that is forked is a process like any other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import programs
from tests.programs import Program

posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals there")

SEEN = "import os, sys; print(os.getcwd(), os.environ['TOWN'], sys.argv[1:], sys.stdin.read())"


def test_it_has_a_folder_an_environment_arguments_and_files_of_its_own(tmp_path: Path) -> None:
    done = programs.run(
        [sys.executable, "-c", SEEN, "a", "b"],
        cwd=tmp_path,
        env=os.environ | {"TOWN": "Porto"},
        content="typed",
        text=True,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path} Porto ['a', 'b'] typed\n"


@pytest.mark.parametrize(
    ("code", "expected", "errors"),
    [
        ("pass", 0, ""),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('refused')", 1, "refused\n"),
        ("raise SystemExit(256)", 0, ""),
    ],
)
def test_it_ends_with_the_code_of_the_program(
    tmp_path: Path, code: str, expected: int, errors: str
) -> None:
    (tmp_path / "ending.py").write_text(code)
    for program in (["-c", code], ["-m", "ending"]):
        for start in (programs.run, subprocess.run):
            done = start(
                [sys.executable, *program], cwd=tmp_path, text=True, stderr=subprocess.PIPE
            )
            assert (done.returncode, done.stderr) == (expected, errors)


def test_an_error_is_told(tmp_path: Path) -> None:
    done = programs.run([sys.executable, "-c", "1 / 0"], text=True, capture_output=True)
    assert done.returncode == 1
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


@posix
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_ends_it_and_is_what_who_waits_is_told(number: signal.Signals) -> None:
    waiting = "import sys; print('here', flush=True); sys.stdin.read()"
    with Program[str](
        [sys.executable, "-c", waiting], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        assert process.poll() is None
        process.send_signal(number)
        assert process.wait(programs.TIMEOUT_S) == -number


@posix
def test_a_program_has_one_thread_and_no_file_of_another() -> None:
    code = "import os; print(*(len(os.listdir(f'/proc/self/{of}')) for of in ('fd', 'task')))"
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("nothing tells here which files a process has open")
    with Program[str](  # whose files the next one could have
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        done = programs.run([sys.executable, "-c", code], text=True, capture_output=True)
        other.kill()
    assert done.stdout == "4 1\n", done.stderr  # one of the files is the folder that is listed
