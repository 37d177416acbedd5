"""The sandbox: outcomes are told, and code under test reaches nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.bench.undone.sandbox import CallOutcome, SandboxLimits, VersionRun, run_version
from treering.bench.undone.sandbox_child import canonical

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
