"""The sandbox: outcomes are told, and code under test reaches nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.errors import InputError
from treering_bench.undone import sandbox
from treering_bench.undone.boundary import REFUSED
from treering_bench.undone.sandbox import (
    BOUNDARY,
    CallOutcome,
    SandboxLimits,
    VersionRun,
    require_boundary,
    run_version,
)
from treering_bench.undone.sandbox_child import canonical

try:
    require_boundary()
except InputError as error:  # another system, or a kernel without it: nothing is run there
    pytestmark = pytest.mark.skip(str(error))

SHORT = SandboxLimits(seconds=2.0, each=0.1)


def run(source: str, *calls: str, limits: SandboxLimits = SHORT) -> VersionRun:
    return run_version(source, "f", calls, limits)


def test_values_errors_and_output_are_told_apart() -> None:
    source = "def f(a):\n    print('got', a)\n    return 10 / a\n"
    value, error, misfit = run(source, "(4,)", "(0,)", "()").calls
    assert value == CallOutcome("value", "", "2.5", "got 4\n")
    assert (error.end, error.kind, error.text) == ("raise", "ZeroDivisionError", "division by zero")
    assert misfit.end == "unbound"


def test_an_error_of_ones_own_counts_as_the_built_in_it_derives_from() -> None:
    source = "class Bad(ValueError):\n    pass\ndef f(a):\n    raise Bad('no')\n"
    assert run(source, "(1,)").calls[0].kind == "ValueError"


def test_what_a_source_defined_before_it_failed_is_tried_all_the_same() -> None:
    outcome = run("def f(a):\n    return a\nf(1 / 0)\n", "(1,)")
    assert outcome.loaded.kind == "ZeroDivisionError"
    assert outcome.calls[0].text == "1"


def test_a_function_that_is_not_there_loses_every_call() -> None:
    assert [c.end for c in run("def g(a): pass\n", "(1,)", "(2,)").calls] == ["lost", "lost"]


def test_one_call_without_end_does_not_cost_the_others() -> None:
    source = "def f(a):\n    while a:\n        pass\n    return 'done'\n"
    assert [c.end for c in run(source, "(1,)", "(0,)").calls] == ["timeout", "value"]


def test_code_that_will_not_be_interrupted_is_stopped() -> None:
    source = """def f(a):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
"""
    stubborn = run(source, "(1,)", limits=SandboxLimits(seconds=1.0, each=0.1))
    # where the interruption falls between two tries it ends the call, elsewhere the process
    assert stubborn.calls[0].end in {"timeout", "lost"}


@pytest.mark.parametrize(
    "body",
    [
        "import socket; socket.socket()",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "open('file', 'w')",
        "import os; os.open('file', os.O_CREAT | os.O_WRONLY)",
        "import os; os.remove('file')",
    ],
)
def test_network_processes_and_files_are_out_of_reach(body: str) -> None:
    assert run(f"def f():\n    {body}\n", "()").calls[0].kind == "PermissionError"


UNLOCK = "import __main__, sys\n__main__.FORBIDDEN_EVENTS = ()\n"
"""What takes the audit hook's list away: the kernel's boundary must hold without it."""


@pytest.mark.parametrize(
    "body",
    [
        *("open(OUTSIDE).read()", "os.listdir(HOME)", "os.remove(OUTSIDE)", "os.rmdir(HOME)"),
        *("open(OUTSIDE, 'w')", "open(HOME + '/new', 'w')", "os.truncate(OUTSIDE, 0)"),
        *("os.rename(OUTSIDE, OUTSIDE + '2')", "os.symlink('/etc', HOME + '/link')"),
        *("os.mkfifo(HOME + '/fifo')", "os.chmod(OUTSIDE, 0o777)", "os.utime(OUTSIDE)"),
        *(
            "os.fork()",
            "os.execv('/bin/true', ['true'])",
            "os.posix_spawn('/bin/true', ['true'], {})",
        ),
        *("os.kill(os.getppid(), 0)", "open('/proc/self/environ').read()"),
        *("__import__('socket').socket()", "os.memfd_create('x')", "open('/etc/passwd').read()"),
        "__import__('resource').prlimit(os.getppid(), 0)",
        "__import__('fcntl').fcntl(0, 8, os.getppid())",
    ],
)
def test_the_kernel_refuses_without_the_audit_hook(tmp_path: Path, body: str) -> None:
    outside = tmp_path / "outside"
    outside.write_text("private")
    source = f"{UNLOCK}import os\nOUTSIDE = {str(outside)!r}\nHOME = {str(tmp_path)!r}\n"
    outcome = run(f"{source}def f():\n    {body}\n", "()").calls[0]
    assert (outcome.end, outcome.kind) == ("raise", "PermissionError")
    assert [file.name for file in tmp_path.iterdir()] == ["outside"]
    assert outside.read_text() == "private"
    assert outside.stat().st_mode & 0o777 != 0o777


def test_no_program_is_started_without_the_audit_hook(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    source = f"{UNLOCK}import os\ndef f():\n    return os.system('echo > {trace}')\n"
    assert run(source, "()").calls[0].text != "0"
    assert not trace.exists()


def test_threads_and_the_standard_library_work() -> None:
    source = """import decimal, email.mime.text, threading, time, zoneinfo
def f():
    found = []
    thread = threading.Thread(target=found.append, args=(decimal.Decimal("0.1"),))
    thread.start()
    thread.join()
    time.sleep(0.001)
    return str(found[0])
"""
    outcome = run(source, "()", limits=SandboxLimits(seconds=5, each=3)).calls[0]
    ends = {("value", "'0.1'")}
    if os.geteuid():  # the limit on processes, which root is free of, counts threads
        ends.add(("raise", "can't start new thread"))
    assert (outcome.end, outcome.text) in ends


@pytest.mark.parametrize("line", ["nonsense", "[1]", "{}", '{"end": "value"}', "[" * 9000])
def test_replies_that_the_code_wrote_itself_are_no_error(line: str) -> None:
    source = f"""import os
def f():
    for number in range(3, 64):
        try:
            os.write(number, {line + chr(10)!r}.encode())
        except OSError:
            pass
    return 1
"""
    ended = run(source, "()", "()")
    assert ended.loaded.end == "value"
    assert [outcome.end for outcome in ended.calls] == ["lost", "lost"]


def test_surplus_replies_are_not_counted() -> None:
    line = '{"end": "value", "kind": "", "text": "forged", "printed": ""}\n'
    source = f"""import os
for number in range(3, 64):
    try:
        os.write(number, {line!r}.encode() * 9)
    except OSError:
        pass
def f():
    return 1
"""
    assert len(run(source, "()").calls) == 1


def test_nothing_is_run_where_there_is_no_boundary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = tmp_path / "refusing.py"
    refusing.write_text(f"import sys; sys.stderr.write('no Landlock'); sys.exit({REFUSED})")
    monkeypatch.setattr(sandbox, "BOUNDARY", refusing)
    require_boundary.cache_clear()
    try:
        with pytest.raises(InputError, match=r"Landlock and seccomp.*\(no Landlock\)"):
            run("def f():\n    return 1\n", "()")
    finally:
        require_boundary.cache_clear()


def test_a_folder_that_is_named_may_be_changed_and_no_other(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    program = inside / "program.py"
    program.write_text(
        "import os, pathlib\n"
        "pathlib.Path('a').mkdir()\n"
        "pathlib.Path('a/b').write_text('b')\n"
        "os.rename('a/b', 'c')\n"
        "os.rmdir('a')\n"
        f"pathlib.Path({str(outside)!r}, 'd').write_text('d')\n"
    )
    ended = subprocess.run(
        [sys.executable, "-I", str(BOUNDARY), "--write", str(inside), str(program)],
        capture_output=True,
        text=True,
        cwd=inside,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 1
    assert "PermissionError" in ended.stderr
    assert sorted(file.name for file in inside.iterdir()) == ["c", "program.py"]
    assert not list(outside.iterdir())


def test_memory_is_limited() -> None:
    assert run("def f():\n    return [0] * 10**10\n", "()").calls[0].kind == "MemoryError"


def test_code_under_test_gets_no_input_and_no_environment() -> None:
    source = "import os\ndef f():\n    return sorted(os.environ)\n"
    assert "HOME" not in run(source, "()").calls[0].text
    assert run("def f():\n    return input()\n", "()").calls[0].kind == "EOFError"


def test_values_that_compare_equal_look_the_same() -> None:
    assert canonical({2: True, 1: {3, 4}}) == canonical({1: {4, 3}, 2: 1.0})
    assert canonical(0.1 + 0.2) == canonical(0.3)
    assert canonical([1]) != canonical((1,))


@given(st.recursive(st.integers() | st.text() | st.none(), lambda inner: st.lists(inner)))
def test_equal_values_have_one_canonical_text(value: object) -> None:
    import copy

    assert canonical(value) == canonical(copy.deepcopy(value))
