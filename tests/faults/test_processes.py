"""Processes that are killed, or that write one file at once: nothing acknowledged is ever lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tests import programs
from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.faults.writer import MESSAGES, SHARED, messages
from tests.programs import Program
from treering import Memory

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60


def start(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    return Program(
        [sys.executable, "-m", "tests.faults.writer", str(path), name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    return (line.strip() for line in process.stdout)


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def assert_whole(memory: Memory, name: str, acknowledged: int) -> None:
    """All that was acknowledged is there, and every conversation as a whole or not at all."""
    by_source: dict[str, list[str]] = {}
    for entry in memory.entries():
        by_source.setdefault(entry.source, []).append(entry.text)
    for number in range(acknowledged):
        writer = "everybody" if number < SHARED else name
        assert by_source[f"{writer} {number}"] == [
            one["content"] for one in messages(writer, number)
        ]
    assert all(len(texts) == MESSAGES for texts in by_source.values())


def assert_sound(memory: Memory) -> None:
    assert memory.check() == []
    stats = memory.settle()
    assert stats.pending == {}
    assert stats.embedded == stats.fragments == stats.entries
    assert memory.search("message talk", k=1)


def test_processes_that_add_overlapping_content_at_once_lose_and_repeat_nothing(
    path: Path, open_memory: Open
) -> None:
    names, count = ("Ana", "Ben"), 12
    with ExitStack() as stack:
        processes = [stack.enter_context(start(path, name, count)) for name in names]
        outputs = [lines(process) for process in processes]
        assert [next(output) for output in outputs] == ["ready", "ready"]
        for process in processes:
            go(process)
        assert [list(output)[-1] for output in outputs] == [str(count - 1)] * 2
        assert [process.wait(TIMEOUT_S) for process in processes] == [0, 0]
    memory = open_memory()
    for name in names:
        assert_whole(memory, name, count)
    texts = [entry.text for entry in memory.entries()]
    assert len(texts) == len(set(texts)) == MESSAGES * (SHARED + 2 * (count - SHARED))
    assert_sound(memory)


FULL = """
import resource, signal, sys
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.errors import JournalError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
memory = Memory.open(sys.argv[1], embedder=HashingEmbedder())
memory.add("Ana moved to Porto.", source="before")
limit = memory.stats().bytes + 100_000
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
added = 0
try:
    for number in range(1_000):
        memory.add(f"Text {number}. " * 2_000, source=f"long {number}")
        added += 1
except JournalError as error:
    print(added)
    print(error)
assert memory.search("Porto")[0].text == "Ana moved to Porto."
"""


def test_a_full_disk_refuses_what_does_not_fit_and_keeps_the_rest(
    path: Path, open_memory: Open
) -> None:
    done = programs.run(
        [sys.executable, "-c", FULL, str(path)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    added, message = done.stdout.splitlines()
    assert "nothing of this change was stored" in message
    memory = open_memory(embedder=HashingEmbedder())
    sources = {entry.source for entry in memory.entries()}
    assert sources >= {"before", *(f"long {number}" for number in range(int(added)))}
    assert memory.check() == []
    assert memory.settle().pending == {}
    assert memory.add("There is room again.").added == 1


OPEN_AND_CLOSE = (
    "import sys\n"
    "from tests.embedders import HashingEmbedder\n"
    "from treering import Memory\n"
    "Memory.open(sys.argv[1], embedder=HashingEmbedder()).close()\n"
)


def test_forgetting_does_not_let_another_process_take_the_log_away(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        [added] = memory.add("A sentence that will soon be forgotten.", source="a").ids
        assert memory.forget(added).scrubbed
        programs.run(
            [sys.executable, "-c", OPEN_AND_CLOSE, str(path)],
            check=True,
            timeout=TIMEOUT_S,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        memory.add("What is added after that must be there for others.", source="b")
        with Memory.open(path, embedder=HashingEmbedder()) as other:
            assert [entry.source for entry in other.entries()] == ["b"]


def test_closing_one_of_two_memories_of_a_file_keeps_the_others_locks(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        with Memory.open(path, embedder=HashingEmbedder()) as other:
            other.add("A sentence that will soon be forgotten.", source="a")
            other.forget(source="a")
        programs.run(
            [sys.executable, "-c", OPEN_AND_CLOSE, str(path)],
            check=True,
            timeout=TIMEOUT_S,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        memory.add("What is added after that must be there for others.", source="b")
        with Memory.open(path, embedder=HashingEmbedder()) as third:
            assert [entry.source for entry in third.entries()] == ["b"]
