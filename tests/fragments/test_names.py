"""Numbers for speakers and sessions, given out as names come."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.journal.blocks import name_code
from treering.search.relations.contract import MISSING
from treering.search.snapshot import FEW, Names

SPEAKERS = ["", *(f"speaker {number}" for number in range(FEW + 4))]

said = st.lists(
    st.tuples(st.sampled_from(SPEAKERS), st.integers(1, 2), st.sampled_from(["", "mon", "tue"])),
    max_size=40,
)


def codes(names: list[str]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array([name_code(name) if name else 0 for name in names], dtype=np.uint64)


@given(batches=st.lists(said, max_size=3))
def test_a_name_has_one_number_whenever_and_among_however_many_it_comes(
    batches: list[list[tuple[str, int, str]]],
) -> None:
    names = Names()
    speakers: dict[str, int] = {"": MISSING}
    sessions: dict[tuple[int, str], int] = {}
    for batch in batches:
        speaker = [each[0] for each in batch]
        source, session = [each[1] for each in batch], [each[2] for each in batch]
        entries = np.arange(len(batch))
        numbers = names.speakers_of(entries, codes(speaker), lambda entry: speaker[entry])  # noqa: B023
        for name, number in zip(speaker, numbers.tolist(), strict=True):
            assert speakers.setdefault(name, number) == number
        numbers = names.sessions_of(np.array(source, dtype=np.int32), codes(session))
        for key, number in zip(zip(source, session, strict=True), numbers.tolist(), strict=True):
            assert number == (sessions.setdefault(key, number) if key[1] else MISSING)
        for name in ("mon", "tue"):
            every = [number for (_, held), number in sessions.items() if held == name]
            assert sorted(names.sessions(name)) == sorted(every)
    del speakers[""]
    assert names.speakers == speakers
    assert len(set(speakers.values())) == len(speakers)
    named = [number for (_, name), number in sessions.items() if name]
    assert len(set(named)) == len(named)


def test_a_speaker_of_another_name_than_the_code_says_is_an_error() -> None:
    with pytest.raises(ValueError, match="another name"):
        Names().speakers_of(np.array([7]), codes(["Ana"]), lambda _: "Ben")
