"""Filters combine with AND and never widen; spaces of one file know nothing of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import Entry, Memory
from treering.errors import FilterError, InputError, TextEncodingError, UnknownName

pytestmark = pytest.mark.both_engines

START = datetime(2026, 5, 1, tzinfo=UTC)
METADATA: list[dict[str, Any]] = [
    {},
    {"n": 1},
    {"n": "1"},
    {"n": True},
    {"n": None},
    {"n": [1, {"b": 2, "a": 1}]},
    {"n": {"a": 1, "b": "é"}},
    {"n": 1, "m": "x\\u0000y"},
    {"m": "x\\u0000z"},
    {"m": 'quo"te', "n": 2**40},
    {"n": [2**70]},
    {"n": [2**70 + 1]},
    {"n": 2**63 - 1},
    {"n": 2**63 - 2},
    {"n": 0.1},
]


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values: a number is no truth value."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def meets(entry: Entry, where: Mapping[str, Any]) -> bool:
    checks = [
        getattr(entry, name) == where[name]
        for name in ("source", "speaker", "session", "kind")
        if name in where
    ]
    if "since" in where:
        checks.append(entry.at is not None and entry.at >= where["since"])
    if "until" in where:
        checks.append(entry.at is not None and entry.at < where["until"])
    checks += [
        key in entry.metadata and same(entry.metadata[key], value)
        for key, value in where.get("metadata", {}).items()
    ]
    return all(checks)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Entries that differ in everything a filter may name."""
    path = tmp_path_factory.mktemp("memory") / "life.db"
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        _fill(memory)
        yield memory


def _fill(memory: Memory) -> None:
    for number, metadata in enumerate(METADATA * 2):
        memory.add(
            f"Porto number {number}",
            source=("novel", "diary", "nov%")[number % 3],
            speaker=("Ana", None, "Ben", "a' OR 1=1 --")[number % 4],
            session=(None, "monday")[number % 2],
            kind=("text", "chat", "code")[number % 3],
            at=None if number % 5 == 0 else START + timedelta(days=number),
            metadata=metadata,
        )


conditions = st.fixed_dictionaries(
    {},
    optional={
        "source": st.sampled_from(["novel", "diary", "nov%", "nobody"]),
        "speaker": st.sampled_from(["Ana", "Ben", "a' OR 1=1 --", "%"]),
        "session": st.sampled_from(["monday", "sunday"]),
        "kind": st.sampled_from(["text", "chat", "code"]),
        "since": st.integers(0, 13).map(lambda days: START + timedelta(days=days)),
        "until": st.integers(14, 30).map(lambda days: START + timedelta(days=days)),
        "metadata": st.sampled_from(METADATA),
    },
)


@given(where=conditions)
def test_a_filter_lets_through_exactly_what_meets_every_condition(
    crowd: Memory, where: dict[str, Any]
) -> None:
    wanted = {entry.id for entry in crowd.entries() if meets(entry, where)}
    assert {entry.id for entry in crowd.entries(**where)} == wanted
    assert {hit.entry_id for hit in crowd.search("Porto", k=100, **where)} == wanted
    shown = crowd.context("Porto", budget=10_000, **where)
    assert {hit.entry_id for passage in shown.passages for hit in passage.hits} <= wanted


@given(where=conditions)
def test_under_a_filter_the_reasons_add_up_and_fewer_hits_are_the_first_of_more(
    crowd: Memory, where: dict[str, Any]
) -> None:
    """By all relations that are on by default, those that depend on the filter among them."""
    hits = crowd.search("Porto number 3", k=100, **where)
    for hit in hits:
        assert hit.score == pytest.approx(sum(hit.why.terms.values()), abs=1e-4)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert [hit.entry_id for hit in crowd.search("Porto number 3", k=3, **where)] == [
        hit.entry_id for hit in hits[:3]
    ]


@given(where=conditions, k=st.integers(1, 5))
def test_a_filter_takes_the_best_of_what_it_lets_through(
    crowd: Memory, where: dict[str, Any], k: int
) -> None:
    # Signals look at the best hits that the filter lets through, and folding at those next to each
    # other.
    how: dict[str, Any] = {"relations": ["context"], "all": True}
    everything = crowd.search("Porto number 3", k=100, **how)
    allowed = {entry.id for entry in crowd.entries(**where)}
    expected = [hit for hit in everything if hit.entry_id in allowed][:k]
    found = crowd.search("Porto number 3", k=k, **how, **where)
    # Confidence depends on the hits beside a hit, which the filter chooses.
    assert [replace(hit, confidence=0.0) for hit in found] == [
        replace(hit, confidence=0.0) for hit in expected
    ]


@pytest.mark.both_engines
def test_a_date_is_that_day_on_the_clock_of_each_entry(memory: Memory) -> None:
    times = ("2026-03-01T00:30:00+02:00", "2026-02-28T23:30:00-05:00", "2026-03-01")
    for at in times:
        memory.add(f"A fox at {at}.", at=at)
    for day in ("2026-03-01", "2026-03", date(2026, 3, 1)):
        for found in (memory.entries(since=day), memory.search("fox", since=day, k=9)):
            assert {times.index(entry.text[9:-1]) for entry in found} == {0, 2}
        assert [entry.text[9:-1] for entry in memory.entries(until=day)] == [times[1]]
    assert len(list(memory.entries(since="2026-03-01T00:00:00Z"))) == 2


MEANINGLESS: list[tuple[dict[str, Any], str]] = [
    ({"colour": "red"}, "no filter colour; there are source, speaker"),
    ({"since": "soon"}, "since: time 'soon'"),
    ({"since": "2026-05-03", "until": "2026-05-03"}, "must be before until"),
    ({"kind": "poem"}, "kind is 'poem'"),
    ({"metadata": {"": 1}}, "metadata key"),
    ({"metadata": {"x": {1}}}, "JSON"),
    ({"source": Path("novel")}, "source is a PosixPath; give a text"),
    ({"speaker": 5}, "speaker is a int; give a text"),
    ({"metadata": "x"}, "metadata is a str"),
    ({"session": "a\ud800"}, "session has a lone surrogate"),
    ({"metadata": {"n": 2**70}}, "keep such numbers as texts"),
    ({"metadata": {"n": "x\0"}}, "NUL"),
]
"""Filters, each with what is said of it."""


def test_a_filter_that_cannot_mean_anything_is_refused_everywhere(crowd: Memory) -> None:
    calls: list[Callable[..., Any]] = [
        partial(crowd.search, "Porto"),
        partial(crowd.context, "Porto"),
        lambda **where: list(crowd.entries(**where)),
        crowd.forget,
    ]
    for (where, message), call in product(MEANINGLESS, calls):
        with pytest.raises(InputError, match=message) as refused:
            call(**where)
        assert isinstance(refused.value, FilterError | TextEncodingError) or (
            message in ("since: time 'soon'", "JSON")
        )


# ------------------------------------------------------------------ spaces


def test_spaces_of_one_file_share_nothing(open_memory: Open) -> None:
    ana, ben = open_memory(space="ana"), open_memory(space="ben")
    ana.add("Ana moved to Porto.", source="diary")
    ben.add("Ben moved to Lisbon.", source="diary")
    assert [hit.text for hit in ana.search("moved Lisbon Porto")] == ["Ana moved to Porto."]
    assert [hit.text for hit in ben.search("moved Lisbon Porto")] == ["Ben moved to Lisbon."]
    assert [entry.text for entry in ana.entries(source="diary")] == ["Ana moved to Porto."]
    assert "Lisbon" not in "\n".join(ana.export())
    assert (ana.stats().entries, ana.stats().fragments, ana.stats().embedded) == (1, 1, 1)
    assert ana.spaces() == ben.spaces() == ["ana", "ben"]


def test_an_entry_of_another_space_cannot_be_reached_by_its_id(open_memory: Open) -> None:
    ana, ben = open_memory(space="ana"), open_memory(space="ben")
    entry = ana.add("Ana moved to Porto.").ids[0]
    ben.add("Ben moved to Lisbon.")
    for call in (ben.get, ben.forget, lambda one: ben.replace(one, "x")):
        with pytest.raises(UnknownName):
            call(entry)
    assert ana.get(entry).text == "Ana moved to Porto."


def test_forgetting_in_one_space_leaves_the_same_ids_and_sources_of_another(
    open_memory: Open,
) -> None:
    ana, ben = open_memory(space="ana"), open_memory(space="ben")
    ids = ana.add([{"role": "user", "content": f"Porto {n}"} for n in range(5)], source="chat").ids
    ben.import_(ana.export())
    assert [entry.id for entry in ben.entries()] == list(ids)
    before = ben.search("Porto")
    ana.forget(ids[0])
    ana.forget(source="chat")
    assert list(ana.entries()) == []
    assert ana.search("Porto") == []
    assert ben.search("Porto") == before
    assert ben.check() == []


# A name whose letters an accent is composed with, and the same as macOS writes it.
COMPOSED, DECOMPOSED = (normalize(form, "Zoë Müller") for form in ("NFC", "NFD"))


@pytest.mark.parametrize(
    ("written", "asked"), [(DECOMPOSED, COMPOSED), (COMPOSED, DECOMPOSED), (DECOMPOSED, DECOMPOSED)]
)
def test_a_name_is_found_and_forgotten_in_any_unicode_form(
    open_memory: Open, written: str, asked: str
) -> None:
    memory = open_memory(space=written)
    for name in ("speaker", "session", "source"):
        fields: dict[str, Any] = {name: f"{written}/1"}
        memory.add(f"Porto {name}", **fields)
        where: Any = {name: f"{asked}/1"}
        assert [entry.text for entry in memory.entries(**where)] == [f"Porto {name}"]
        assert [hit.text for hit in memory.search("Porto", **where)] == [f"Porto {name}"]
        assert len(memory.forget(**where).entries) == 1
    memory.add([{"role": "user", "name": written, "content": "I moved to Porto."}], source=written)
    assert len(memory.forget(speaker=asked).entries) == 1
    assert not list(memory.entries())
    memory.add("Porto", source=f"{written}/a.txt")
    assert len(open_memory(space=asked).forget(source=f"{asked}/").entries) == 1
    assert memory.spaces() == [COMPOSED]
    memory.forget_space(asked)
    assert memory.spaces() == []


def test_a_folder_is_found_in_any_unicode_form(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / DECOMPOSED
    folder.mkdir()
    (folder / "a.txt").write_text("The boat is red.")
    memory.add(folder)
    assert memory.add(folder).unchanged == 1
    sources = (f"{COMPOSED}/", f"{DECOMPOSED}/a.txt", f"{tmp_path}/{COMPOSED}/", f"{folder}/a.txt")
    for source in sources:
        assert len(list(memory.entries(source=source))) == 1, source
    (folder / "a.txt").rename(folder / "b.txt")
    assert memory.add(folder).moved == 1
    (folder / "b.txt").unlink()
    assert memory.add(folder, sync=True, force=True).removed == 1


@pytest.mark.parametrize("space", ["", " ", "a\nb", "x" * 1_001])
def test_a_space_needs_a_name(open_memory: Open, space: str) -> None:
    with pytest.raises(InputError, match="space"):
        open_memory(space=space)
