"""Threads that share a memory: one indexes for all, and nobody waits long for another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.arrays import Floats
from treering.views import registry as views

pytestmark = pytest.mark.both_engines

WAIT_S = 30


class Held(HashingEmbedder):
    """Once held, embeds nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__("held", tamper=self._wait)
        self.entered, self.go = threading.Event(), threading.Event()
        self.go.set()

    def hold(self) -> None:
        self.texts.clear()
        self.entered.clear()
        self.go.clear()

    def _wait(self, texts: Sequence[str], vectors: Floats) -> Floats:
        self.entered.set()
        assert self.go.wait(WAIT_S)
        return vectors


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def shared(open_memory: Open, held: Held) -> Iterator[Memory]:
    """A memory that remembers something already."""
    found = open_memory(embedder=held)
    found.add("Ana moved to Porto.")
    held.hold()
    yield found
    held.go.set()


def test_what_is_added_while_another_thread_indexes_is_embedded_once(
    shared: Memory, held: Held
) -> None:
    with ThreadPoolExecutor(4) as threads:
        first = threads.submit(shared.add, "Ben keeps bees.")
        assert held.entered.wait(WAIT_S)
        others = [threads.submit(shared.add, f"Number {number}.") for number in range(3)]
        until(lambda: sum(1 for _ in shared.entries()) == 5)
        held.go.set()
        assert [one.result(WAIT_S).pending for one in (first, *others)] == [0] * 4
    assert sorted(held.texts) == ["Ben keeps bees.", "Number 0.", "Number 1.", "Number 2."]


def test_an_add_waits_for_another_threads_indexing_no_longer_than_it_must(
    shared: Memory, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "BUILD_PATIENCE_S", 0.01)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(shared.add, "Ben keeps bees.")
        assert held.entered.wait(WAIT_S)
        assert shared.add("Number 1.").pending == 2
        held.go.set()
        assert first.result(WAIT_S).pending == 0


def test_a_search_does_not_wait_for_it_at_all(shared: Memory, held: Held) -> None:
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(shared.add, "Ben keeps bees.")
        assert held.entered.wait(WAIT_S)
        assert [hit.text for hit in shared.search("Porto", mode="lexical")] == [
            "Ana moved to Porto."
        ]
        held.go.set()
        first.result(WAIT_S)


def until(condition: Callable[[], bool]) -> None:
    """Give other threads time until something has happened."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end
