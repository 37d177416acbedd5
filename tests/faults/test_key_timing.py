"""How long the refusal of a wrong key takes tells nothing of the right ones.

By construction: a key is looked up by its SHA-256, and nobody can choose that so that more and more
of it is right. Here the times are compared, in ``make faults`` alone: it is statistics.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.conftest import Note
from treering.errors import KeyUnknown
from treering.journal.open import open_database
from treering.serve import keys
from treering.serve.access import Access
from treering.serve.settings import ServerSettings

SIGMAS = 5
PAIRS = 20_000
KEYS = 200


@pytest.fixture(autouse=True)
def only_in_the_fault_suite(rounds: Callable[[int], int]) -> None:
    if rounds(1) == 1:
        pytest.skip("statistics of times, for `make faults`")


def advantage(
    refuse: Callable[[str], object], pairs: Iterator[tuple[str, str]], rng: random.Random
) -> float:
    """By how many standard deviations the second of a pair takes longer more often than not."""
    longer = count = 0
    for pair in pairs:
        times = [0, 0]
        for place in rng.sample((0, 1), 2):  # whoever comes first pays for cold caches
            began = time.perf_counter_ns()
            refuse(pair[place])
            times[place] = time.perf_counter_ns() - began
        longer += times[1] > times[0]
        count += times[1] != times[0]
    return float((longer - count / 2) / (count / 4) ** 0.5)


def guesses(right: list[str], rng: random.Random) -> Iterator[tuple[str, str]]:
    """Wrong keys: one at random, and one that is right but for its last characters."""
    for _ in range(PAIRS):
        near = rng.choice(right)[:-4] + secrets.token_urlsafe(3)
        yield keys.PREFIX + secrets.token_urlsafe(keys.KEY_BYTES), near


def naively(right: list[str], guess: str) -> bool:
    """A comparison as it must not be: it stops at the first character that is wrong."""
    return any(
        all(ours == theirs for ours, theirs in zip(key, guess, strict=False)) for key in right
    )


def test_a_key_that_is_nearly_right_is_refused_in_the_time_of_any_other(
    path: Path, rng: random.Random, note: Note
) -> None:
    database = open_database(path)
    try:
        right = [keys.add(database, "ana")[0] for _ in range(KEYS)]
        access = Access(ServerSettings(path), database)

        def refuse(key: str) -> None:
            try:
                access._holder(key)
            except KeyUnknown:
                return
            raise AssertionError("a wrong key was let in")

        measured = abs(advantage(refuse, guesses(right, rng), rng))
    finally:
        database.close()
    some = right[:5]
    control = advantage(lambda key: naively(some, key), guesses(some, rng), rng)
    assert control > SIGMAS, "the measurement sees nothing"
    assert measured < SIGMAS, measured
    note("times of wrong keys", pairs=PAIRS, told_apart=0)
