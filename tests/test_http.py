from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.http import EventReader, ServerEvent, encoded_event, retry_after_s

data = st.binary().filter(lambda text: b"\n" not in text and not text.endswith(b"\r"))
names = st.sampled_from(["", "done", "error"])


@given(st.lists(st.tuples(names, data)), st.integers(1, 7))
def test_events_are_read_as_they_were_written_however_they_are_cut(
    events: list[tuple[str, bytes]], size: int
) -> None:
    sent = b"".join(encoded_event(text, name or None) for name, text in events)
    reader = EventReader()
    chunks = (sent[start : start + size] for start in range(0, len(sent), size))
    assert [event for chunk in chunks for event in reader.feed(chunk)] == events


def test_comments_are_passed_over_and_line_ends_of_windows_read() -> None:
    read = EventReader().feed(b": at work\n\nevent: done\r\ndata:{}\r\n\r\ndata: 1\n")
    assert read == [ServerEvent("done", b"{}"), ServerEvent("", b"1")]


@pytest.mark.timeout(60)
def test_a_line_of_120_mb_takes_no_square_of_its_length() -> None:
    reader, chunk = EventReader(), b"x" * 4_096
    assert reader.feed(b"data: ") == []
    for _ in range(30_000):
        assert reader.feed(chunk) == []
    [event] = reader.feed(b"\n")
    assert len(event.data) == 30_000 * 4_096


def test_a_waiting_time_is_read_where_it_is_one() -> None:
    waits = [retry_after_s(header) for header in ("3", "0", "", "soon", "-1", None)]
    assert waits == [3.0, 0.0, None, None, None, None]
