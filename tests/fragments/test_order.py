"""The reading order, however it came to be, is the one made anew from all rows."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from treering.arrays import Codes
from treering.records import KINDS
from treering.search.relations.contract import MISSING
from treering.views.fragments.order import SESSION_GAP_S, PlacedColumns, Reading

CHAT = KINDS.index("chat")
HOUR = 3_600.0

row = st.fixed_dictionaries(
    {
        "source": st.integers(1, 3),
        "position": st.integers(0, 6),
        "start": st.sampled_from([0, 0, 90]),
        "at": st.sampled_from([np.nan, 0.0, 3 * HOUR, 6 * HOUR, 9 * HOUR, 12 * HOUR]),
        "named": st.sampled_from([MISSING, MISSING, MISSING, 4]),
        "kind": st.sampled_from([CHAT, CHAT, CHAT, CHAT, 0]),
    }
)
rows = st.lists(row, max_size=6)
step = st.one_of(rows, st.sets(st.integers(0, 40), max_size=5))


def extend(to: PlacedColumns, new: list[dict[str, Any]]) -> None:
    for field in fields(to):
        getattr(to, field.name).extend([each[field.name] for each in new])


def remove(reading: Reading, of: PlacedColumns, gone: Codes) -> Codes:
    removal = reading.remove(gone)
    for field in fields(of):
        getattr(of, field.name).remove(gone)
    return reading.finish_removal(*removal)


def groups(codes: Any) -> list[int]:
    seen: dict[int, int] = {}
    return [-1 if code == -1 else seen.setdefault(code, len(seen)) for code in codes.tolist()]


def assert_as_anew(reading: Reading, of: PlacedColumns) -> None:
    anew = Reading(of)
    anew.rebuild()
    order, right = reading.order(), anew.order()
    for name in ("rows", "follows", "continues", "sources", "firsts"):
        np.testing.assert_array_equal(getattr(order, name), getattr(right, name), err_msg=name)
    np.testing.assert_array_equal(reading.rank.values, anew.rank.values)
    assert groups(reading.session.values) == groups(anew.session.values)
    assert not order.is_plain or order.rows.tolist() == list(range(len(order)))


@examples(300)
@given(first=rows, steps=st.lists(step, max_size=8))
def test_an_order_that_lives_equals_one_made_anew(
    first: list[dict[str, Any]], steps: list[Any]
) -> None:
    of = PlacedColumns.empty()
    extend(of, first)
    reading = Reading(of)
    reading.rebuild()
    for change in steps:
        before = reading.order()
        copies = before.rows.copy(), before.continues.copy(), reading.session.values.copy()
        session = reading.session.values
        if isinstance(change, list):
            extend(of, change)
            if change:
                reading.add()
        else:
            gone = np.array(sorted(n for n in change if n < len(of.source)), dtype=np.int64)
            if len(gone):
                remove(reading, of, gone)
        assert_as_anew(reading, of)
        # What readers were given before has not changed under them.
        for array, copy in zip((before.rows, before.continues, session), copies, strict=True):
            np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize(
    "row",
    [
        {"named": MISSING, "kind": CHAT, "at": 60.0},
        {"named": MISSING, "kind": CHAT, "at": np.nan},
        {"named": 4, "kind": CHAT, "at": 60.0},
        {"named": MISSING, "kind": 0, "at": 60.0},
        {"named": MISSING, "kind": 0, "at": np.nan},
    ],
)
def test_a_row_at_the_end_of_a_long_source_cuts_no_row_far_before_it(row: dict[str, Any]) -> None:
    class Counted(Reading):
        cut = 0

        def _cut(self, places: slice | Codes, before: Any = None) -> Any:
            sessions = super()._cut(places, before)
            self.cut = len(sessions)
            return sessions

    of = PlacedColumns.empty()
    extend(of, [row | {"source": 1, "start": 0, "position": n} for n in range(1_000)])
    reading = Counted(of)
    reading.rebuild()
    assert reading.cut == 1_000
    extend(of, [row | {"source": 1, "start": 0, "position": 1_000}])
    reading.add()
    assert reading.cut <= 2
    assert_as_anew(reading, of)


@given(rows)
def test_made_anew_it_is_what_looking_at_one_row_after_the_other_gives(
    given_rows: list[dict[str, Any]],
) -> None:
    of = PlacedColumns.empty()
    extend(of, given_rows)
    reading = Reading(of)
    reading.rebuild()
    order = reading.order()
    key = ("source", "position", "start")
    expected = sorted(range(len(given_rows)), key=lambda at: [given_rows[at][k] for k in key])
    assert order.rows.tolist() == expected
    sessions: list[object] = []
    ranks: dict[int, int] = {}
    for place, at in enumerate(expected):
        row = given_rows[at]
        rank = ranks[row["source"]] = ranks.get(row["source"], -1) + 1
        assert reading.rank.values[at] == rank
        assert order.follows[place] == (rank > 0)
        sessions.append(naive_session([given_rows[each] for each in expected], place))
        same = rank > 0 and sessions[place] == sessions[place - 1]
        assert order.continues[place] == same
    by_place = reading.session.values[expected]
    named = [sessions.index(session) if session else -1 for session in sessions]
    assert groups(by_place) == groups(np.array(named, dtype=np.int64))


def naive_session(ordered: list[dict[str, Any]], place: int) -> object:
    """What names the session of a row: its name, or the place where its stretch begins."""
    row = ordered[place]
    if row["named"] != MISSING:
        return "named", row["named"]
    source = [at for at, each in enumerate(ordered) if each["source"] == row["source"]]
    timed = [at for at in source if not np.isnan(ordered[at]["at"])]
    if row["kind"] != CHAT or not timed:
        return None

    def time(at: int) -> float:
        before = [each for each in timed if each <= at]
        return float(ordered[before[-1] if before else timed[0]]["at"])

    begin = source[0]
    for at in source[1 : source.index(place) + 1]:
        if time(at) - time(at - 1) > SESSION_GAP_S:
            begin = at
    return "cut", begin
