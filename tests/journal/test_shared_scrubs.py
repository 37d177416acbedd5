"""Threads that ask for a scrubbing at once share one."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor

from treering.errors import JournalFull
from treering.journal.storage import SharedScrubs

TIMEOUT_S = 30.0
PAUSE_S = 0.001


class Scrubbing:
    """A scrubbing that lasts until it is told to end, and others that are asked for meanwhile."""

    def __init__(self, *outcomes: bool | BaseException) -> None:
        self.shared = SharedScrubs()
        self.done: list[Collection[str]] = []
        self._outcomes = iter(outcomes)
        self._begun, self._go_on = threading.Event(), threading.Event()

    def scrub(self, tables: Collection[str]) -> bool:
        self.done.append(tables)
        self._begun.set()
        assert self._go_on.wait(TIMEOUT_S)
        outcome = next(self._outcomes, True)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def run(self, *names: str) -> list[Future[bool]]:
        """The scrubbing of a first table, and then of these; ended."""
        with ThreadPoolExecutor(len(names) + 1) as threads:
            futures = [threads.submit(self.shared.run, ["first"], self.scrub)]
            assert self._begun.wait(TIMEOUT_S)
            futures += [threads.submit(self.shared.run, [name], self.scrub) for name in names]
            until = time.monotonic() + TIMEOUT_S
            while len(self.shared._next.tables) < len(names):
                assert time.monotonic() < until
                threading.Event().wait(PAUSE_S)
            self._go_on.set()
        return futures


def test_scrubbings_that_wait_are_done_together() -> None:
    scrubbing = Scrubbing(True, False)
    assert [future.result() for future in scrubbing.run("ana", "ben")] == [True, False, False]
    assert scrubbing.done == [{"first"}, {"ana", "ben"}]


def test_a_scrubbing_that_fails_is_an_error_for_all_that_wait_for_it() -> None:
    scrubbing = Scrubbing(True, JournalFull("no space left"))
    first, *others = scrubbing.run("ana", "ben")
    assert first.result()
    assert [type(future.exception()) for future in others] == [JournalFull, JournalFull]
    assert scrubbing.shared.run(["next"], scrubbing.scrub)


def test_an_interrupted_scrubbing_is_done_by_another_thread() -> None:
    scrubbing = Scrubbing(True, KeyboardInterrupt(), True)
    first, *others = scrubbing.run("ana", "ben")
    assert first.result()
    outcomes = {type(future.exception()) for future in others}
    assert outcomes == {KeyboardInterrupt, type(None)}
    assert len(scrubbing.done) == 3
