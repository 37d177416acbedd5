"""What was known then, what a person says holds, what is kept for a while, what comes first."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.memo.talk import place
from tests.raised import raises
from treering import Memory
from treering.errors import FilterError, InputError, UnknownEntry, UnknownName
from treering.hints import Hint
from treering.journal import entries
from treering.records import ChatUnit


def life(memory: Memory) -> dict[str, str]:
    """Ana lives in Porto, then in Berlin, then in Porto again; the ids of what she said."""
    said = {
        "january": "I live in Porto.",
        "march": "I relocated to Berlin.",
        "june": "I relocated back to Porto.",
    }
    months = {"january": 1, "march": 3, "june": 6}
    return {
        month: memory.add(
            text, speaker="Ana", kind="chat", source="talk", at=datetime(2026, months[month], 1)
        ).ids[0]
        for month, text in said.items()
    }


# ------------------------------------------------------------------ as of


@pytest.mark.both_engines
def test_a_search_as_of_a_moment_gives_what_was_known_then(memory: Memory) -> None:
    ids = life(memory)
    found = memory.search("Where does Ana live?", as_of="2026-02-01")
    assert [hit.entry_id for hit in found] == [ids["january"]]
    assert found[0].superseded_by is None
    assert memory.search("Ana", as_of="2025-12-31") == []
    assert len(memory.search("Where does Ana live?")) == 3


@pytest.mark.both_engines
def test_a_mark_is_that_of_the_moment(memory: Memory) -> None:
    ids = life(memory)
    then = {hit.entry_id: hit for hit in memory.search("Ana live", as_of="2026-04-01")}
    against = then[ids["january"]].superseded_by
    assert against is not None
    assert (against.entry_id, against.text) == (ids["march"], "I relocated to Berlin.")
    assert then[ids["march"]].superseded_by is None
    now = {hit.entry_id: hit for hit in memory.search("Ana live")}
    assert now[ids["january"]].superseded_by is None  # she lives there again
    assert now[ids["march"]].superseded_by is not None


@pytest.mark.both_engines
def test_what_has_no_time_counts_from_when_it_was_added(memory: Memory) -> None:
    memory.add("I live in Porto.")
    assert memory.search("Porto", as_of=datetime.now(UTC) - timedelta(days=1)) == []
    assert len(memory.search("Porto", as_of=datetime.now(UTC) + timedelta(days=1))) == 1


def test_a_past_moment_chooses_nothing_to_forget(memory: Memory) -> None:
    life(memory)
    with pytest.raises(InputError):
        memory.forget(source="talk", as_of="2026-04-01")
    assert memory.stats().entries == 3


# ------------------------------------------------------------------ superseding by hand


def two(memory: Memory) -> tuple[str, str]:
    [old] = memory.add("The party is in the garden.", source="a", at="2026-01-01").ids
    [new] = memory.add("The party is in the barn.", source="b", at="2026-02-01").ids
    return old, new


@pytest.mark.both_engines
def test_what_a_person_supersedes_is_marked_everywhere(memory: Memory) -> None:
    old, new = two(memory)
    memory.supersede(old, new)
    hits = {hit.entry_id: hit for hit in memory.search("party", all=True)}
    against = hits[old].superseded_by
    assert against is not None
    assert (against.entry_id, against.text) == (new, "The party is in the barn.")
    assert hits[new].superseded_by is None
    text = str(memory.context("party garden"))
    assert "(superseded since 2026-02-01: The party is in the barn.)" in text
    before = memory.search("party", as_of="2026-01-15")
    assert [hit.superseded_by for hit in before] == [None]


def test_superseding_survives_a_rebuild_a_correction_and_an_export(
    memory: Memory, open_memory: Open, tmp_path: Path
) -> None:
    old, new = two(memory)
    memory.supersede(old, new)
    memory.rebuild("facts")
    memory.replace(new, "The party is in the red barn.")
    other = open_memory(tmp_path / "other.db")
    other.import_(memory.export())
    for each in (memory, other):
        against = each.get(old).superseded_by
        assert against is not None
        assert against.text == "The party is in the red barn."
    assert list(other.export()) == list(memory.export())


@pytest.mark.both_engines
def test_superseding_is_taken_back(memory: Memory) -> None:
    old, new = two(memory)
    memory.supersede(old, new)
    memory.supersede(old, None)
    assert memory.get(old).superseded_by is None
    with pytest.raises(InputError, match="nothing to undo"):
        memory.supersede(old, None)


@pytest.mark.both_engines
def test_superseding_goes_with_either_entry(memory: Memory) -> None:
    old, new = two(memory)
    memory.supersede(old, new)
    memory.forget(new)
    assert [hit.superseded_by for hit in memory.search("party")] == [None]
    [later] = memory.add("The party is off.").ids
    memory.supersede(old, later)
    memory.forget(old)
    assert memory.check() == []


def test_superseding_needs_two_entries_and_no_circle(memory: Memory) -> None:
    old, new = two(memory)
    with pytest.raises(UnknownEntry):
        memory.supersede(old, "nothing")
    with pytest.raises(InputError, match="an entry cannot supersede itself"):
        memory.supersede(old, old)
    memory.supersede(old, new)
    with raises(InputError, hint=Hint.UNDO_SUPERSEDE):
        memory.supersede(new, old)
    assert memory.get(old).superseded_by is not None


@pytest.mark.both_engines
def test_a_circle_of_several_is_found_from_either_side(memory: Memory) -> None:
    ids = memory.add([{"role": "user", "content": f"Line {n}."} for n in range(6)]).ids
    for old, new in pairwise(ids):
        memory.supersede(old, new)
    for later, earlier in ((5, 0), (5, 4), (3, 1)):
        with raises(InputError, hint=Hint.UNDO_SUPERSEDE):
            memory.supersede(ids[later], ids[earlier])
    memory.supersede(ids[2], None)
    memory.supersede(ids[5], ids[0])
    with raises(InputError, hint=Hint.UNDO_SUPERSEDE):
        memory.supersede(ids[2], ids[3])


# ------------------------------------------------------------------ for a while


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Lets time pass for what reads the clock."""

    def pass_(by: timedelta) -> None:
        class Clock(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return datetime.now(tz) + by

        monkeypatch.setattr(entries, "datetime", Clock)
        monkeypatch.setattr("treering.journal.filters.datetime", Clock)
        monkeypatch.setattr("treering.journal.filters.datetime", Clock)
        monkeypatch.setattr("treering.memory.datetime", Clock)

    return pass_


HOUR = timedelta(hours=1)


def test_what_has_expired_is_found_no_more_and_is_erased(
    memory: Memory, path: Path, later: Callable[[timedelta], None]
) -> None:
    [short] = memory.add("The door code is 4711 harbour.", expires=datetime.now(UTC) + HOUR).ids
    memory.add("The door is green.")
    assert memory.get(short).expires is not None
    assert len(memory.search("door")) == 2

    later(2 * HOUR)
    assert [entry.text for entry in memory.entries()] == ["The door is green."]
    with pytest.raises(UnknownName):
        memory.get(short)
    assert [hit.text for hit in memory.search("door code")] == ["The door is green."]
    assert "4711" not in str(memory.context("door code"))
    assert memory.stats().entries == 1
    memory.settle()
    assert b"4711 harbour" not in b"".join(
        f.read_bytes() for f in path.parent.glob(f"{path.name}*")
    )
    assert memory.check() == []


def test_searches_do_not_all_wait_for_a_writer_to_erase_what_has_expired(
    memory: Memory, open_memory: Open, later: Callable[[timedelta], None]
) -> None:
    memory.add("The door code is 4711 harbour.", expires=datetime.now(UTC) + HOUR)
    memory.add("The door is green.")
    later(2 * HOUR)
    with ThreadPoolExecutor(2) as threads:
        with open_memory()._database.write():
            waiting = threads.submit(memory.search, "door")
            with suppress(TimeoutError):
                waiting.result(0.2)  # time enough to begin
            meanwhile = threads.submit(memory.search, "door").result(30)
        for hits in (meanwhile, waiting.result(30)):
            assert [hit.text for hit in hits] == ["The door is green."]
    assert memory.stats().entries == 1


@pytest.mark.both_engines
def test_what_has_expired_takes_what_rests_on_it_along(
    memory: Memory, later: Callable[[timedelta], None]
) -> None:
    memory.add("I live in Porto.", speaker="Ana", kind="chat", at="2026-01-01")
    end = datetime.now(UTC) + HOUR
    memory.add("I relocated to Berlin.", speaker="Ana", kind="chat", at="2026-02-01", expires=end)
    assert [fact.value for fact in memory.facts.current()] == ["Berlin"]
    later(2 * HOUR)
    assert [fact.value for fact in memory.facts.current()] == ["Porto"]
    assert not [line for line in memory.export() if "Berlin" in line]


@pytest.mark.both_engines
def test_what_has_expired_marks_nothing_while_another_thread_erases(
    memory: Memory, later: Callable[[timedelta], None]
) -> None:
    [old] = memory.add("The door code is 4711.").ids
    [new] = memory.add("It is 1234 now.", expires=datetime.now(UTC) + HOUR).ids
    memory.supersede(old, new)
    assert memory.search("door code")[0].entry_id == new
    later(2 * HOUR)
    with memory._views._erasing:  # as while it erases
        [hit] = memory.search("door code")
    assert (hit.entry_id, hit.superseded_by) == (old, None)


@pytest.mark.both_engines
def test_a_memo_of_what_has_expired_is_gone_where_somebody_holds_the_view(
    memory: Memory, later: Callable[[timedelta], None]
) -> None:
    code = {"role": "user", "content": "The door code is 4711 harbour."}
    memory.add([code], source="chat", expires=datetime.now(UTC) + HOUR)
    view = memory.memos
    memo = place(memory, "door", "The door code of user is 4711.", 0, 0)
    assert [shown.topic for shown in view.list()] == ["door"]
    later(2 * HOUR)
    assert view.list() == []
    with pytest.raises(UnknownName):
        view.edit(memo.id, pinned=True)


@pytest.mark.both_engines
def test_a_search_of_memos_embeds_none_that_has_expired(
    open_memory: Open, later: Callable[[timedelta], None]
) -> None:
    embedder = HashingEmbedder()
    memory = open_memory(embedder=embedder)
    memory.add("The tide is high.", source="notes")
    code = {"role": "user", "content": "The door code is 4711 harbour."}
    memory.add([code], source="chat", expires=datetime.now(UTC) + HOUR)
    memory.search("tide")  # embeds both
    place(memory, "door", "The door code of user is 4711.", 0, 0)
    later(2 * HOUR)
    embedder.texts.clear()
    assert memory.memos.search("door code") == []
    assert not [text for text in embedder.texts if "4711" in text]


def test_an_end_must_be_to_come(memory: Memory) -> None:
    with pytest.raises(InputError, match=r"expires: 2020-01-01.* has passed"):
        memory.add("Hello.", expires="2020-01-01")
    assert memory.stats().entries == 0


# ------------------------------------------------------------------ first


@pytest.mark.both_engines
def test_what_is_pinned_comes_first_in_a_context_and_a_brief(memory: Memory) -> None:
    [allergy] = memory.add("Ana is allergic to nuts.", source="health", pin=True).ids
    for number in range(20):
        memory.add(f"Porto has a river, part {number}.", source=f"guide {number}")
    context = memory.context("Porto river", budget=40)
    assert "allergic to nuts" in str(context)
    assert "Pinned:\n- Ana is allergic to nuts." in str(memory.brief())
    assert memory.search("Porto river", k=1)[0].source != "health"

    assert not memory.pin(allergy, pinned=False).pinned
    assert "allergic" not in str(memory.context("Porto river", budget=40))
    assert "Pinned" not in str(memory.brief())
    assert memory.pin(allergy).pinned
    with pytest.raises(UnknownName):
        memory.pin("nothing")


# ------------------------------------------------------------------ conditions on metadata


CARS: list[dict[str, Any]] = [
    {"make": "Skoda", "year": 2019, "tags": ["red", "old"], "seen": "2026-01-05"},
    {"make": "Fiat", "year": 2024, "tags": ["red"], "seen": "2026-03-01", "sold": False},
    {"make": "Volvo", "year": 1990.5, "tags": [], "sold": True},
    {"make": None, "year": "1999", "seen": True},
    {},
]


CONDITIONS: list[tuple[dict[str, Any], list[int]]] = [
    ({"make": {"$in": ["Skoda", "Volvo"]}}, [0, 2]),
    ({"make": {"$in": [None]}}, [3]),
    ({"make": {"$not": "Skoda"}}, [1, 2, 3, 4]),
    ({"make": {"$not": {"$in": ["Skoda", "Fiat"]}}}, [2, 3, 4]),
    ({"year": {"$gte": 2019}}, [0, 1]),
    ({"year": {"$gt": 2019}}, [1]),
    ({"year": {"$gt": 1990, "$lt": 2020}}, [0, 2]),
    ({"year": {"$lte": 1990.5}}, [2]),
    ({"year": {"$gt": "1998"}}, [3]),
    ({"seen": {"$gte": "2026-02-01"}}, [1]),
    ({"seen": {"$exists": True}}, [0, 1, 3]),
    ({"seen": {"$exists": False}}, [2, 4]),
    ({"tags": {"$contains": "red"}}, [0, 1]),
    ({"tags": {"$contains": "red"}, "year": {"$lt": 2020}}, [0]),
    ({"tags": {"$not": {"$contains": "old"}}}, [1, 2, 3, 4]),
    ({"sold": {"$in": [True]}}, [2]),
    ({"sold": {"$in": [1]}}, []),
    ({"$or": [{"make": "Skoda"}, {"year": {"$lt": 2000}}]}, [0, 2]),
    ({"$or": [{"make": "Skoda"}], "year": 2024}, []),
    ({"$and": [{"year": {"$gt": 1990}}, {"year": {"$lt": 2020}}]}, [0, 2]),
    ({"$or": [{"make": "Fiat"}, {"$and": [{"make": "Volvo", "sold": True}]}]}, [1, 2]),
    ({"$and": [{"$or": [{"make": "Fiat"}, {"make": None}]}, {"seen": {"$exists": True}}]}, [1, 3]),
]
"""Each with the cars that meet it."""


@pytest.mark.both_engines
def test_a_condition_lets_through_what_meets_it(memory: Memory) -> None:
    for number, car in enumerate(CARS):
        memory.add(f"car {number}", metadata=car)
    for metadata, which in CONDITIONS:
        texts = [f"car {number}" for number in which]
        assert [entry.text for entry in memory.entries(metadata=metadata)] == texts, metadata
        found = {hit.text for hit in memory.search("car", metadata=metadata)}
        assert found == set(texts), metadata


def test_a_condition_that_cannot_mean_anything_is_refused(memory: Memory) -> None:
    memory.add("car")
    conditions: list[dict[str, Any]] = [
        {"$like": "x"},
        {"$in": "Skoda"},
        {"$in": []},
        {"$gt": True},
        {"$exists": 1},
        {"$gt": 1, "b": 2},
    ]
    for condition in conditions:
        with pytest.raises(FilterError):
            memory.search("car", metadata={"make": condition})


def test_a_key_with_a_dollar_joins_conditions_or_is_refused(memory: Memory) -> None:
    memory.add("car")
    cases: list[dict[str, Any]] = [
        {"$or": {"make": "Skoda"}},
        {"$or": []},
        {"$or": ["make"]},
        {"$and": [{}]},
        {"$or": "Skoda"},
        {"$nor": [{"make": "Skoda"}]},
        {"$or": [{"$like": 1}]},
    ]
    for metadata in cases:
        with pytest.raises(FilterError):
            memory.search("car", metadata=metadata)


def test_a_condition_is_not_nested_without_end(memory: Memory) -> None:
    memory.add("car")
    condition: dict[str, Any] = {"$exists": True}
    for _ in range(20):
        condition = {"$not": condition}
    with pytest.raises(FilterError):
        memory.search("car", metadata={"make": condition})


@pytest.mark.both_engines
def test_a_pin_holds_to_the_filter(memory: Memory) -> None:
    memory.add("Ana is allergic to nuts.", source="health", pin=True)
    memory.add("Porto has a river.", source="guide")
    assert "nuts" not in str(memory.context("Porto", source="guide"))


@pytest.mark.both_engines
@pytest.mark.parametrize("chat_unit", ["messages", "rounds"])
def test_a_pin_is_shown_beside_words_that_no_text_has(memory: Memory, chat_unit: ChatUnit) -> None:
    memory.configure(mode="lexical", chat_unit=chat_unit)
    memory.add("I am allergic to nuts.", speaker="Ana", kind="chat", source="talk", pin=True)
    memory.add("Porto has a river.", source="guide")
    assert memory.search("zeppelin") == []
    assert [one.source for one in memory.context("zeppelin").passages] == ["talk"]
    assert not memory.context("zeppelin", source="guide").passages
