"""Work of one space that two processes on one PostgreSQL come to at once: done by one of them."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.embedders import HashingEmbedder, down
from tests.faults.test_processes import ROOT, TIMEOUT_S
from tests.memo.talk import messages
from tests.memo.test_settle import one_topic
from tests.postgres_server import empty_memory
from tests.programs import Program
from treering import Memory
from treering.arrays import Floats
from treering.llm.scripted import FakeLLM, Request
from treering.views import registry

HOLDER = """
import sys, time
from treering.journal.open import open_database
from treering.journal.space import Space
space = Space(open_database(sys.argv[1]), "default")
with space.task(sys.argv[2]) as is_ours:
    print(is_ours, flush=True)
    time.sleep(600)
"""


class Gate:
    """Holds up an embedder until it may go on."""

    def __init__(self) -> None:
        self.entered, self.may_go_on = threading.Event(), threading.Event()
        self.embedder = HashingEmbedder(tamper=self._hold)

    def _hold(self, _: Sequence[str], vectors: Floats) -> Floats:
        self.entered.set()
        assert self.may_go_on.wait(TIMEOUT_S)
        return vectors


@pytest.fixture
def url() -> Iterator[str]:
    with empty_memory() as url:
        yield url


@contextmanager
def held_elsewhere(url: str, task: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has a task of the space, until it is killed."""
    process = Program(
        [sys.executable, "-c", HOLDER, url, task], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        yield process
    finally:
        process.kill()
        process.wait(TIMEOUT_S)
        assert process.stdout is not None
        process.stdout.close()


def opened(url: str, embedder: HashingEmbedder, **options: object) -> Memory:
    return Memory.open(url, embedder=embedder, **options)  # type: ignore[arg-type]


def test_two_that_add_at_once_embed_each_text_once(url: str) -> None:
    gate, free = Gate(), HashingEmbedder()
    with (
        opened(url, gate.embedder) as first,
        opened(url, free) as second,
        ThreadPoolExecutor(2) as threads,
    ):
        adding = threads.submit(first.add, "Ana lives in Porto.")
        assert gate.entered.wait(TIMEOUT_S)
        beside = threads.submit(second.add, "Ben lives in Rome.")
        while second.stats().entries < 2:
            time.sleep(0.01)
        gate.may_go_on.set()
        assert adding.result(TIMEOUT_S).pending == beside.result(TIMEOUT_S).pending == 0
        embedded = gate.embedder.texts + free.texts
        assert sorted(embedded) == ["Ana lives in Porto.", "Ben lives in Rome."]
        assert len(second.search("lives", k=5)) == 2


def test_what_is_queued_for_embedding_is_embedded_by_one_of_two(url: str) -> None:
    with opened(url, HashingEmbedder()) as memory:
        memory.add("Cem lives in Bonn.")
    with opened(url, HashingEmbedder(tamper=down)) as memory:
        memory.add("Ana lives in Porto.")
        assert memory.stats().pending
    gate, free = Gate(), HashingEmbedder()
    with (
        opened(url, gate.embedder) as first,
        opened(url, free) as second,
        ThreadPoolExecutor(2) as threads,
    ):
        settling = threads.submit(first.settle)
        assert gate.entered.wait(TIMEOUT_S)
        beside = threads.submit(second.settle)
        with pytest.raises(TimeoutError):  # it waits for the first
            beside.result(0.3)
        gate.may_go_on.set()
        assert settling.result(TIMEOUT_S).pending == beside.result(TIMEOUT_S).pending == {}
    assert free.texts == []


def test_memos_that_two_write_at_once_are_asked_for_once(url: str) -> None:
    asked, may_reply = threading.Event(), threading.Event()

    def hold(_: Request) -> None:
        asked.set()
        assert may_reply.wait(TIMEOUT_S)

    llm = FakeLLM(one_topic, before_reply=hold)
    beside = FakeLLM(one_topic)
    with (
        opened(url, HashingEmbedder(), llm=llm) as first,
        opened(url, HashingEmbedder(), llm=beside) as second,
        ThreadPoolExecutor(2) as threads,
    ):
        first.add(messages(), source="chat")
        writing = threads.submit(first.memos.settle)
        assert asked.wait(TIMEOUT_S)
        waiting = threads.submit(second.memos.settle)
        with pytest.raises(TimeoutError):
            waiting.result(0.3)
        may_reply.set()
        writing.result(TIMEOUT_S)
        waiting.result(TIMEOUT_S)
        assert second.memos.list()
    assert len(llm.requests) == 1
    assert beside.requests == []


WORK: Mapping[str, Callable[[Memory], object]] = {
    "read": Memory.settle,
    "summaries": lambda memory: memory.tree.settle(),
    "rebuild:fragments": lambda memory: memory.rebuild("fragments"),
}


@pytest.mark.parametrize("task", WORK)
def test_work_of_a_process_that_is_killed_is_taken_over(
    url: str, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "BUILD_PATIENCE_S", 0.1)
    with opened(url, HashingEmbedder()) as memory:
        memory.add("Ana lives in Porto.", source="a")
        with held_elsewhere(url, task) as process, ThreadPoolExecutor(1) as threads:
            receipt = memory.add("Ben lives in Rome.", source="b")
            assert receipt.pending == (1 if task == "read" else 0)
            working = threads.submit(WORK[task], memory)
            with pytest.raises(TimeoutError):
                working.result(0.3)
            process.kill()
            working.result(TIMEOUT_S)
        assert memory.settle().pending == {}
        assert [hit.text for hit in memory.search("Rome", k=1)] == ["Ben lives in Rome."]
