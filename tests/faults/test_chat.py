"""Processes that are killed while a model writes its reply: what was said is kept, and once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.faults.test_processes import ROOT, TIMEOUT_S
from tests.programs import Program
from treering import Memory
from treering.errors import LLMUnavailable
from treering.llm.scripted import FakeLLM


@contextmanager
def asking(path: Path, message: str, way: str = "chat") -> Iterator[subprocess.Popen[str]]:
    """A process whose model has been asked for a reply to a message; killed at the end."""
    process = Program(
        [sys.executable, "-m", "tests.faults.talker", str(path), message, way],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    stuck = threading.Timer(TIMEOUT_S, process.kill)  # which ends the line that is waited for
    stuck.start()
    try:
        assert process.stdout.readline() == "asked\n"
        stuck.cancel()
        yield process
    finally:
        stuck.cancel()
        process.kill()
        process.wait(TIMEOUT_S)
        process.stdout.close()


def texts(memory: Memory) -> list[str]:
    return [entry.text for entry in memory.entries(source="chat")]


@pytest.mark.parametrize("way", ["chat", "stream"])
def test_a_message_whose_process_was_killed_is_said_again_and_kept_once(
    path: Path, open_memory: Open, way: str
) -> None:
    with asking(path, "Where is Porto?", way) as process:
        process.kill()
        assert process.wait(TIMEOUT_S) != 0
    memory = open_memory(llm=FakeLLM(["In Portugal.", "In Portugal, as I said."]))
    assert texts(memory) == ["Where is Porto?"]
    memory.chat("Where is Porto?")
    assert texts(memory) == ["Where is Porto?", "In Portugal."]
    memory.chat("Where is Porto?")
    assert len(texts(memory)) == 4
    assert memory.check() == []


def test_a_message_that_failed_again_after_a_kill_can_still_be_said_again(
    path: Path, open_memory: Open
) -> None:
    with asking(path, "Where is Porto?"):
        pass
    memory = open_memory(llm=FakeLLM([LLMUnavailable("down"), "In Portugal."]))
    with pytest.raises(LLMUnavailable):
        memory.chat("Where is Porto?")
    with asking(path, "Where is Porto?"):
        pass
    memory.chat("Where is Porto?")
    assert texts(memory) == ["Where is Porto?", "In Portugal."]


def test_what_another_process_is_having_answered_is_said_by_two(
    path: Path, open_memory: Open
) -> None:
    memory = open_memory(llm=FakeLLM(["In Portugal."]))
    with asking(path, "Where is Porto?"):
        memory.chat("Where is Porto?")
    assert texts(memory) == ["Where is Porto?", "Where is Porto?", "In Portugal."]


def test_a_message_whose_process_was_killed_can_be_forgotten(path: Path, open_memory: Open) -> None:
    with asking(path, "Where is Porto?"):
        pass
    memory = open_memory()
    memory.forget(source="chat")
    assert memory.check() == []


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="nothing here sees a process end so")
def test_a_killed_process_that_nobody_has_reaped_asks_no_more(
    path: Path, open_memory: Open
) -> None:
    memory = open_memory(llm=FakeLLM(["In Portugal."]))
    with asking(path, "Where is Porto?") as process:
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        os.kill(process.pid, 0)  # its number is still taken
        memory.chat("Where is Porto?")
    assert texts(memory) == ["Where is Porto?", "In Portugal."]
