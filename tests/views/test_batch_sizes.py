"""How many entries a batch of the views has: what is added together is indexed together."""

from __future__ import annotations

import pytest

from treering.views.follow import BATCH_ENTRIES, MOST_ENTRIES, QUICK_S, size_after


def test_after_a_quick_batch_twice_as_many_come() -> None:
    assert size_after(BATCH_ENTRIES, BATCH_ENTRIES, 0.9 * QUICK_S) == 2 * BATCH_ENTRIES
    assert size_after(MOST_ENTRIES, MOST_ENTRIES, 0) == MOST_ENTRIES


def test_a_quick_batch_that_was_not_full_says_nothing_against_a_full_one() -> None:
    assert size_after(1, 256, 0.001) == 512


@pytest.mark.parametrize("times", [1, 2, 3])
def test_after_a_slow_batch_as_many_come_as_are_done_in_the_time(times: int) -> None:
    size = size_after(900, MOST_ENTRIES, times * QUICK_S)
    assert size == pytest.approx(900 / times, abs=1)


def test_what_is_slow_by_far_has_few_entries() -> None:
    assert size_after(BATCH_ENTRIES, BATCH_ENTRIES, 100 * QUICK_S) == BATCH_ENTRIES
