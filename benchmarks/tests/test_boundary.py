"""Code under test reaches nothing behind the boundary of the kernel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from treering.errors import InputError
from treering_bench.coding import sandbox
from treering_bench.coding.boundary import REFUSED
from treering_bench.coding.sandbox import BOUNDARY, require_boundary

try:
    require_boundary()
except InputError as error:  # another system, or a kernel without it: nothing is run there
    pytestmark = pytest.mark.skip(str(error))


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """A program behind the boundary, which may change its own folder."""
    inside = folder / "inside"
    inside.mkdir()
    program = inside / "program.py"
    program.write_text(code)
    command = [sys.executable, "-I", str(BOUNDARY), "--write", str(inside), str(program)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=inside, timeout=30, check=False
    )


@pytest.mark.parametrize(
    "code",
    [
        *("open(OUTSIDE).read()", "os.listdir(HOME)", "os.remove(OUTSIDE)", "os.rmdir(HOME)"),
        *("open(OUTSIDE, 'w')", "open(HOME + '/new', 'w')", "os.truncate(OUTSIDE, 0)"),
        *("os.rename(OUTSIDE, OUTSIDE + '2')", "os.symlink('/etc', HOME + '/link')"),
        *("os.mkfifo(HOME + '/fifo')", "os.chmod(OUTSIDE, 0o777)", "os.utime(OUTSIDE)"),
        *("os.fork()", "os.execv('/bin/true', ['true'])"),
        "os.posix_spawn('/bin/true', ['true'], {})",
        *("os.kill(os.getppid(), 0)", "open('/proc/self/environ').read()"),
        *("__import__('socket').socket()", "os.memfd_create('x')", "open('/etc/passwd').read()"),
        "__import__('resource').prlimit(os.getppid(), 0)",
        "__import__('fcntl').fcntl(0, 8, os.getppid())",
    ],
)
def test_the_kernel_refuses(tmp_path: Path, code: str) -> None:
    outside = tmp_path / "outside"
    outside.write_text("private")
    names = f"OUTSIDE, HOME = {str(outside)!r}, {str(tmp_path)!r}"
    ended = run(tmp_path, f"import os\n{names}\n{code}\n")
    assert (ended.returncode, "PermissionError" in ended.stderr) == (1, True), ended.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["inside", "outside"]
    assert outside.read_text() == "private"
    assert outside.stat().st_mode & 0o777 != 0o777


def test_a_folder_that_is_named_may_be_changed(tmp_path: Path) -> None:
    ended = run(
        tmp_path,
        "import os, pathlib, threading\n"
        "pathlib.Path('a').mkdir()\n"
        "pathlib.Path('a/b').write_text('b')\n"
        "os.rename('a/b', 'c')\n"
        "os.rmdir('a')\n",
    )
    assert ended.returncode == 0, ended.stderr
    assert sorted(file.name for file in (tmp_path / "inside").iterdir()) == ["c", "program.py"]


def test_nothing_is_run_where_there_is_no_boundary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = tmp_path / "refusing.py"
    refusing.write_text(f"import sys; sys.stderr.write('no Landlock'); sys.exit({REFUSED})")
    monkeypatch.setattr(sandbox, "BOUNDARY", refusing)
    require_boundary.cache_clear()
    try:
        with pytest.raises(InputError, match=r"Landlock and seccomp.*\(no Landlock\)"):
            require_boundary()
    finally:
        require_boundary.cache_clear()
