"""Timing: every way of doing a thing in turn, and how many times the limit each takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Unit = Literal["s", "B"]

LIMIT = "limit"
OURS = "treering"
ROUNDS = 15
FEW_ROUNDS = 5  # of what takes seconds
MANY_ROUNDS = 100  # of operations that a user waits for: their median and their worst
LEAST_ROUNDS = 3
WORST = "worst"

LOOK_S = 0.02
MOST_LOOKS = 50
IDLE_SHARE = 0.2
"""A process of which no thread is busy takes less of a processor's time than this share."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a run goes: seconds that the many rounds of one operation may take together, after
    the least of them.

    A bare file gets so many turns: beyond them ours alone is filled, else both take the disk's time
    and room; a product is then scaled, and what needs a bare file of the same turns is not timed.
    """

    bare_most: int = 2_000_000
    patience: float = 60.0


BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class Timing:
    """An operation at a size: the time or bytes of one system, and its ratio to the limit's.

    ``value`` is in ``unit``, seconds or bytes. Seconds depend on the machine and on what else it
    does; ``ratio`` comes from one run, in which the systems took turns.
    """

    operation: str
    n: int
    system: str
    value: float
    ratio: float
    unit: Unit = "s"

    @property
    def key(self) -> tuple[str, int, str]:
        """The fields that identify a timing within a run."""
        return self.operation, self.n, self.system


def in_turn(
    operation: str, n: int, ways: Mapping[str, Callable[[], object]], rounds: int
) -> list[Timing]:
    """Do each way once per round; the best round counts, after a first one that warms up.

    What else a machine does only ever makes things slower, so the best is what a thing takes.
    ``ways`` holds the limit under the name ``limit``.
    """
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, way in ways.items():
            rest()
            times[name].append(seconds_of(way))
    return compared(operation, n, {name: [min(seconds[1:])] for name, seconds in times.items()})


def many_rounds(work: Callable[[], None], patience: float) -> int:
    """Do ``work`` 100 times, or fewer times if that takes longer than ``patience`` seconds.

    Returns how often it was done.
    """
    start = time.perf_counter()
    for done in range(MANY_ROUNDS):
        if done >= LEAST_ROUNDS and time.perf_counter() - start > patience:
            return done
        work()
    return MANY_ROUNDS


def spread(operation: str, n: int, taken: Mapping[str, Sequence[float]]) -> list[Timing]:
    """The median of each system under the operation's name, and the worst as another operation.

    Both are beside the limit's median: a limit with one bad round would excuse anything.
    """
    limit = statistics.median(taken[LIMIT])
    timed: list[Timing] = []
    for name, figure in (("", statistics.median), (f" {WORST}", max)):
        values = {system: figure(seconds) for system, seconds in taken.items()} | {LIMIT: limit}
        timed += compared(f"{operation}{name}", n, {s: [value] for s, value in values.items()})
    return timed


def compared(
    operation: str, n: int, taken: Mapping[str, Sequence[float]], unit: Unit = "s"
) -> list[Timing]:
    """The mean of each system, and its ratio to the limit's: over all rounds, so that no round in
    which one of them was lucky decides.
    """
    means = {system: statistics.fmean(values) for system, values in taken.items()}
    return [
        Timing(operation, n, system, value=mean, ratio=mean / means[LIMIT], unit=unit)
        for system, mean in means.items()
    ]


def rest(
    used: Callable[[], float] = time.process_time, pause: Callable[[float], object] = time.sleep
) -> None:
    """Wait until no thread is busy that what was timed before has left behind; about a second
    at most.

    Those of a product keep a processor busy for a tenth of a second after it, in case another one
    comes: what is timed next would seem to take half as long again. ``used`` tells the processor
    time of the process.
    """
    for _ in range(MOST_LOOKS):
        before = used()
        pause(LOOK_S)
        if used() - before < IDLE_SHARE * LOOK_S:
            return


def seconds_of(work: Callable[[], object]) -> float:
    """The seconds that ``work`` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
