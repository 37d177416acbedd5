"""Equal messages of a source are told apart by how many of them came before."""

from __future__ import annotations

import tracemalloc
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from treering.ingest.drafts import Numbering
from treering.journal.writing import Draft

MANY = 20_000
MAX_BYTES = 150
"""For each message, whatever its length."""


@given(st.lists(st.tuples(st.integers(0, 300), st.sampled_from(["chat", "mail"])), max_size=400))
def test_the_nth_of_equal_messages_has_the_key_n(said: list[tuple[int, str]]) -> None:
    numbering = Numbering()
    before: Counter[tuple[int, str]] = Counter()
    for number, source in said:
        count = before[number, source]
        draft = numbering.number(Draft(f"Message {number}.", "chat"), source)
        assert draft.key == (str(count) if count else "")
        before[number, source] += 1


def test_many_messages_take_little_main_memory() -> None:
    tracemalloc.start()
    try:
        numbering = Numbering()
        for number in range(MANY):
            numbering.number(Draft(f"Message {number}.", "chat"), "chat")
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < MAX_BYTES * MANY
    assert numbering.number(Draft("Message 7.", "chat"), "chat").key == "1"
