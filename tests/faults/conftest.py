"""How long the random tests of this folder go on, and what they have tried.

In every run of the tests they make a few rounds. ``make faults`` makes many, with a seed that it
names, and collects the figures: see ``tools/faults.py``.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

Note = Callable[..., None]


@pytest.fixture
def rounds() -> Callable[[int], int]:
    """How many rounds to make, given how many are enough in an ordinary run."""
    times = int(os.environ.get("TREERING_FAULT_ROUNDS", "1"))
    return lambda few: few * times


@pytest.fixture
def rng() -> random.Random:
    """Random, the same again for the same ``$TREERING_FAULT_SEED``."""
    return random.Random(int(os.environ.get("TREERING_FAULT_SEED", "1")))


@pytest.fixture
def note() -> Note:
    """Notes what a test has tried, as name and figures."""

    def noted(what: str, **figures: int) -> None:
        place = os.environ.get("TREERING_FAULT_FIGURES")
        if place:
            with Path(place).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"what": what, **figures}) + "\n")

    return noted
