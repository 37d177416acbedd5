"""Another process that reads and writes a file meanwhile, and how long each call of it took."""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

from treering.errors import JournalBusy
from treering.llm.settings import NONE
from treering.memory import Memory
from treering_bench.perf.texts import RandomVectors
from treering_bench.perf.timing import LIMIT, OURS, Timing, compared

Role = Literal["reader", "writer"]
ROLES: tuple[Role, ...] = ("reader", "writer")
SPACE = "bystander"
IDLE_S = 1.0  # how long it is watched with nothing else going on
_PAUSE_S = 0.005  # between two calls: it is to notice waits, not to make them
_STARTING_S = 120.0


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the bystander, by the clock that all processes of a machine share."""

    role: Role
    began: float
    seconds: float


def waits(
    operation: str,
    n: int,
    path: Path,
    vectors: RandomVectors,
    work: Callable[[], object],
    roles: tuple[Role, ...] = ROLES,
) -> list[Timing]:
    """The worst call of another process on the file at ``path`` while ``work`` goes on.

    It is beside the median of such calls while nothing else goes on. Work that is done between two
    calls has nobody wait, and no figure.
    """
    calls, began, ended = _watched(path, vectors, work)
    timed: list[Timing] = []
    for role in roles:
        ours = [call for call in calls if call.role == role]
        idle = [call.seconds for call in ours if call.began + call.seconds < began]
        during = [c.seconds for c in ours if c.began < ended and c.began + c.seconds > began]
        if during:
            taken = {LIMIT: [statistics.median(idle)], OURS: [max(during)]}
            timed += compared(f"{operation} {role}", n, taken)
    return timed


def _watched(
    path: Path, vectors: RandomVectors, work: Callable[[], object]
) -> tuple[list[Call], float, float]:
    """The calls of a bystander, and when ``work`` began and ended."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    name, dimension = vectors.name, vectors.dimension
    process = context.Process(target=stand_by, args=(path, name, dimension, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(_STARTING_S):
            raise TimeoutError("the process that reads and writes meanwhile did not start")
        ours.recv()
        time.sleep(IDLE_S)
        began = time.monotonic()
        work()
        ended = time.monotonic()
        ours.send("stop")
        return ours.recv(), began, ended
    finally:
        ours.close()
        process.join(_STARTING_S)


def stand_by(path: Path, name: str, dimension: int, parent: Connection) -> None:
    """Read and write in turn in a space of its own until the parent says stop; send the calls."""
    calls: list[Call] = []
    with Memory.open(
        path, space=SPACE, embedder=RandomVectors(name, dimension), llm=NONE
    ) as memory:
        number = 0
        # By nobody before: what is there already is not indexed, and the first line that is would
        # import all that this needs, in the middle of what is timed.
        said = secrets.token_hex(4)

        def write() -> None:
            line = f"a line beside it, {number} of {said}"
            memory.add({"role": "user", "content": line}, source="own")

        def read() -> None:
            memory.search("what line is beside it?", k=1)

        write()
        read()
        parent.send("ready")
        while not parent.poll(_PAUSE_S):
            number += 1
            calls.append(_timed("writer", write))
            calls.append(_timed("reader", read))
    parent.send(calls)


def _timed(role: Role, call: Callable[[], None]) -> Call:
    began = time.monotonic()
    while True:  # a call that gave up waiting is called again: its user would do so too
        try:
            call()
        except JournalBusy:
            continue
        return Call(role, began, time.monotonic() - began)
