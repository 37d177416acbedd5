"""Periods that questions name, worked out by hand, as of Wednesday 18 October 2023."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.cli.moments import moment
from treering.search.periods import periods

NOW = datetime(2023, 10, 18, 15, 30, tzinfo=UTC)


def spans(text: str) -> list[tuple[str, str]]:
    return [(day(period.start), day(period.end)) for period in periods(text, NOW)]


def day(seconds: float) -> str:
    return "" if abs(seconds) == inf else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def test_a_question_names_a_period() -> None:
    cases = [
        ("what did she paint on 3 June 2023?", "2023-06-03", "2023-06-04"),
        ("who came on the 3rd of May", "2023-05-03", "2023-05-04"),
        ("what happened in May", "2023-05-01", "2023-06-01"),
        ("where were we last March?", "2023-03-01", "2023-04-01"),
        ("where were we in November?", "2022-11-01", "2022-12-01"),
        ("what did Ana buy in 2021", "2021-01-01", "2022-01-01"),
        ("which song on 20230405?", "2023-04-05", "2023-04-06"),
        ("what was said on 2023-04-05 at 5 PM", "2023-04-05", "2023-04-06"),
        ("the bills of 2023-04", "2023-04-01", "2023-05-01"),
        ("what did I eat yesterday", "2023-10-17", "2023-10-18"),
        ("what did we say last week", "2023-10-09", "2023-10-16"),
        ("where was I last Friday", "2023-10-13", "2023-10-14"),
        ("goals for this year", "2023-01-01", "2024-01-01"),
        ("the call two days ago", "2023-10-16", "2023-10-17"),
        ("what changed since March", "2023-03-01", ""),
        ("what was planned before May 2023", "", "2023-05-01"),
        ("how much was saved by early June", "", "2023-07-01"),
        ("what happened between May and July", "2023-05-01", "2023-08-01"),
        ("from 3 May 2023 to 7 June 2023", "2023-05-03", "2023-06-08"),
        ("wins from 1998 to 2003", "1998-01-01", "2004-01-01"),
        ("on 29 February", "2020-02-29", "2020-03-01"),
        ("what did I say the day before yesterday", "2023-10-16", "2023-10-17"),
        ("between November and February", "2022-11-01", "2023-03-01"),
        ("was zwischen Mai und Juli 2021 geschah", "2021-05-01", "2021-08-01"),
        ("what changed after March 2023", "2023-04-01", ""),
        ("what changed after 3 March 2023", "2023-03-03", ""),
        ("in the winter of 2021", "2021-01-01", "2022-01-01"),
        ("what have I done in the past two weeks", "2023-10-04", "2023-10-19"),
        ("the last two weeks of May", "2023-05-01", "2023-06-01"),
        ("what did she say on Friday", "2023-10-13", "2023-10-14"),
        ("what did she say on Friday, 5 May 2023", "2023-05-05", "2023-05-06"),
        ("was geschah am 3. März 2022?", "2022-03-03", "2022-03-04"),
        ("qué pasó el 3 de mayo de 2021", "2021-05-03", "2021-05-04"),
        ("что было в мае 2022", "2022-05-01", "2022-06-01"),
        ("2022年5月3日发生了什么", "2022-05-03", "2022-05-04"),
        ("FY2022年度の売上は？", "2022-01-01", "2023-01-01"),
    ]
    for text, start, end in cases:
        assert spans(text) == [(start, end)]


def test_a_question_without_a_date_names_none() -> None:
    cases = [
        "May I come, and may she?",
        "this may be the reason",
        "of these 3 may be wrong",
        "the other 12 may not work",
        "what does the film 1984 tell",
        "the march of the penguins",
        "order 20231305",
        "version 1.2.10 of 3/4",
        "the bill of 3/10/2021",
        "did the battery last two weeks",
        "the last 3 days of the trip",
        "what do I do on Fridays",
        "what happens on Friday next week",
        "what happened on Friday the 13th",
        "is it open Monday to Friday",
        "a year and a half ago",
        "half a day ago",
        "what lasts",
        "",
    ]
    for text in cases:
        assert spans(text) == []


def test_two_dates_apart_are_two_periods() -> None:
    text = "between the report of October 1, 2023, and the one of October 5, 2023"
    assert spans(text) == [("2023-10-01", "2023-10-02"), ("2023-10-05", "2023-10-06")]


def test_and_joins_two_dates_with_years_to_one_period_behind_between_alone() -> None:
    assert len(spans("on 3 May 2021 and 7 June 2023")) == 2
    assert len(spans("between 3 May 2021 and 7 June 2023")) == 1


@pytest.mark.parametrize(
    ("now", "text", "start"),
    [
        ("2023-06-15", "between May and July", "2022-05-01"),
        ("2023-10-20", "on Friday", "2023-10-13"),
    ],
)
def test_a_period_counts_from_the_day_of_the_question(now: str, text: str, start: str) -> None:
    asked = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert [day(period.start) for period in periods(text, asked)] == [start]


@given(st.text(alphabet="0123456789-. ,月年日adegiknmorstuyMJ") | st.text())
def test_any_text_is_read(text: str) -> None:
    assert all(isinstance(period.start, float) for period in periods(text, NOW))


def test_a_time_long_ago_is_read() -> None:
    for count in ("999 years", "999 weeks", "999 months"):
        assert len(spans(f"what was {count} ago")) == 1


def test_at_the_end_of_the_calendar_there_is_no_time_beyond() -> None:
    text_cases = [
        "today",
        "this week",
        "in December",
        "last month",
        "5 weeks ago",
        "the last 3 years",
        "from May to July",
    ]
    for now in (datetime.max, datetime.min):
        for text in text_cases:
            assert len(periods(text, now.replace(tzinfo=UTC))) <= 1


def test_mars_is_a_planet_in_english() -> None:
    for text in ("the moons of Mars", "from Mars to Earth", "water in early Mars"):
        assert spans(text) == []


def test_who_has_the_name_of_a_month_is_no_time() -> None:
    assert periods("the letter from April", NOW, {"april"}) == []
    assert len(periods("the letter from April of April 2022", NOW, {"april"})) == 1


def test_of_a_long_text_the_end_alone_is_read() -> None:
    cases = [
        "in the of may ",
        "1 may ",
        "since the the ",
        "a week ago ",
        "last last ",
        "between may and ",
        "the last 3 days ",
        "on friday ",
        "from may to ",
    ]
    for words in cases:
        begin = time.process_time()
        read = periods(words * 20_000 + "on 3 June 2023", NOW)
        assert read[-1] == periods("on 3 June 2023", NOW)[0]
        assert len(read) < 400
        assert time.process_time() - begin < 2


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("day", "hours"), [("2026-03-30", 23), ("2026-10-26", 25)])
@pytest.mark.usefixtures("berlin")
def test_yesterday_is_the_same_day_in_questions_and_options(day: str, hours: int) -> None:
    now = datetime.fromisoformat(f"{day}T08:00")
    (yesterday,) = periods("what did I do yesterday?", now)
    assert yesterday.end - yesterday.start == hours * 3600
    assert not yesterday.is_by_calendar
    since = moment("yesterday", now)
    assert since is not None
    assert datetime.fromisoformat(since).timestamp() == yesterday.start
