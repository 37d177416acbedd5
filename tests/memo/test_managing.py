"""Memos are listed, edited, pinned and deleted; forgetting reaches them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import Open
from tests.memo.talk import bytes_of, messages, place
from treering import Memory
from treering.errors import InputError, UnknownName
from treering.views.memos import store
from treering.views.memos.record import Memo


@pytest.fixture
def sister(memory: Memory) -> Memo:
    memory.add(messages())
    return place(memory, "Ines in Porto", "The sister of user moved. The rent is 900.", 0, 3)


@pytest.fixture
def boat(memory: Memory, sister: Memo) -> Memo:
    return place(memory, "boat repair", "The boat needs a sail.", 4, 7)


def test_memos_are_listed_by_topic_and_source(memory: Memory) -> None:
    memory.add([dict(one, at=f"2026-01-{n + 1:02}") for n, one in enumerate(messages())])
    memory.add(messages(4), source="other")
    porto, boat = place(memory, "Porto", "s.", 0, 3), place(memory, "boat", "s.", 4, 7)
    other = place(memory, "elsewhere", "s.", 0, 3, source="other")
    assert memory.memos.list() == [porto, boat, other]
    assert memory.memos.list(topic="PORT") == [porto]
    assert memory.memos.list(source="other") == [other]
    assert porto.at == datetime(2026, 1, 1, tzinfo=UTC)
    assert porto.until == datetime(2026, 1, 4, tzinfo=UTC)


def test_an_edit_is_an_entry(memory: Memory, sister: Memo) -> None:
    edited = memory.memos.edit(sister.id, summary="Ines lives in Porto for 900 euros.")
    assert edited.summary == "Ines lives in Porto for 900 euros."
    assert (edited.origin, edited.topic) == ("edited", sister.topic)
    assert edited.spans == sister.spans
    assert memory.memos.get(sister.id) == edited
    [said] = [one for one in memory.entries() if one.source == "treering:memos"]
    assert said.text == "Memo: Ines in Porto. Ines lives in Porto for 900 euros."


def test_a_pinned_memo_is_listed_first(memory: Memory, sister: Memo, boat: Memo) -> None:
    memory.memos.edit(boat.id, pinned=True)
    assert [one.id for one in memory.memos.list()] == [boat.id, sister.id]
    memory.memos.edit(boat.id, pinned=False)
    memory.memos.edit(boat.id, pinned=True)
    assert memory.memos.get(boat.id).pinned


def test_a_deleted_memo_is_not_there(memory: Memory, sister: Memo) -> None:
    memory.memos.delete(sister.id)
    assert memory.memos.list() == []
    with pytest.raises(UnknownName):
        memory.memos.delete(sister.id)
    with pytest.raises(UnknownName):
        memory.memos.edit(sister.id, pinned=True)


def test_an_edit_comes_back_with_the_line_that_it_was_drawn_from(
    memory: Memory, sister: Memo
) -> None:
    edited = memory.memos.edit(sister.id, topic="Zanzibar")
    line = sister.entry_ids[0]
    memory.retract(line)
    assert list(memory.entries(source="treering:memos")) == []
    assert "Zanzibar" not in {memo.topic for memo in memory.memos.list()}
    assert len(memory.withheld()) == 2
    memory.restore(line)
    assert memory.memos.get(sister.id).topic == edited.topic
    assert memory.withheld() == []


@pytest.mark.parametrize("topic", ["", " \n", "x" * 201, "nul \0"])
def test_a_topic_that_is_none_is_refused(memory: Memory, sister: Memo, topic: str) -> None:
    with pytest.raises(InputError):
        memory.memos.edit(sister.id, topic=topic)
    with pytest.raises(InputError):
        memory.memos.edit(sister.id)
    assert memory.memos.list() == [sister]


def test_nothing_else_can_be_added_to_where_changes_are(memory: Memory, sister: Memo) -> None:
    with pytest.raises(InputError, match="memos"):
        memory.add("hello", source="treering:memos")
    memory.memos.edit(sister.id, pinned=True)
    [said] = memory.entries(source="treering:memos")
    with pytest.raises(InputError, match="memos"):
        memory.replace(said.id, "other")


def test_export_and_import_carry_changes(memory: Memory, open_memory: Open, sister: Memo) -> None:
    boat = place(memory, "boat repair", "The boat needs a sail.", 4, 7)
    memory.memos.edit(sister.id, topic="Porto\n\nbridges", summary="One.\nTwo.")
    assert memory.memos.get(sister.id).option == "Porto bridges. One. Two."
    memory.memos.edit(sister.id, pinned=True)
    memory.memos.delete(boat.id)
    lines = list(memory.export())
    with open_memory(Path(memory._database.url).parent / "other.db") as other:
        other.import_(lines)
        [there] = other.memos.list()
        assert there == memory.memos.get(sister.id)
        other.import_(lines)
        assert other.memos.list() == [there]


def test_an_import_with_a_change_that_says_nothing_is_refused(memory: Memory) -> None:
    memory.add("hello", source="notes")
    [header, line] = memory.export()
    broken = line.replace("notes", "treering:memos")
    with pytest.raises(InputError, match="no change"):
        memory.import_([header, broken.replace('"id": "', '"id": "f')])
    assert len(list(memory.entries())) == 1


@pytest.mark.parametrize("how", ["forget", "replace"])
def test_forgetting_a_line_erases_the_memos_written_from_it(
    memory: Memory, path: Path, sister: Memo, how: str
) -> None:
    memory.memos.edit(sister.id, topic="Zebediah topic")
    memory.memos.edit(sister.id, topic="second Quixotic topic", summary="Xylophone summary.")
    if how == "forget":
        receipt = memory.forget(sister.entry_ids[1])
        assert receipt.views["memos"] == 1
    else:
        memory.replace(sister.entry_ids[1], "How is it there?")
        memory.settle()
    assert memory.memos.list() == []
    for trace in ("Zebediah", "Quixotic", "Xylophone", "The rent is 900"):
        assert trace.encode() not in bytes_of(path)
    assert memory.check() == []


def test_the_receipt_has_the_line_first_and_then_the_changes_that_went_with_it(
    memory: Memory, sister: Memo
) -> None:
    memory.memos.edit(sister.id, topic="Ines")
    memory.memos.edit(sister.id, topic="my sister")
    changes = [entry.id for entry in memory.entries(source="treering:memos")]
    line = sister.entry_ids[1]
    receipt = memory.forget(line)
    assert receipt.entries[0] == line
    assert sorted(receipt.entries[1:]) == sorted(changes)
    assert len(changes) == 2
    assert receipt.sources == ("treering:memos",)  # the chat has other lines


def test_a_memo_goes_with_a_line_that_was_only_seen_when_it_was_written(memory: Memory) -> None:
    """The model may have put of one topic's lines into another's summary."""
    memory.add(messages())
    place(memory, "Ines in Porto", "The sister of user moved.", 0, 3, seen=(0, 7))
    memory.forget(memory_line(memory, 6))
    assert memory.memos.list() == []


def test_what_a_person_wrote_stays_without_the_text_it_replaced(memory: Memory, path: Path) -> None:
    memory.add(messages())
    memo = place(memory, "Ines", "Written Gibberish.", 0, 3, seen=(0, 7))
    mine = memory.memos.edit(memo.id, topic="my sister", summary="Ines lives in Porto.")
    memory.forget(memory_line(memory, 6))
    [left] = memory.memos.list()
    assert (left.topic, left.summary) == (mine.topic, mine.summary)
    assert b"Gibberish" not in bytes_of(path)


def test_a_change_goes_with_a_line_that_an_earlier_one_was_drawn_from(
    memory: Memory, path: Path
) -> None:
    memory.add(messages())
    memo = place(memory, "Ines", "Written Gibberish.", 0, 3, seen=(0, 7))
    memory.memos.edit(memo.id, pinned=True)
    memory.memos.edit(memo.id, topic="my sister", summary="Ines lives in Porto.")
    other = place(memory, "boat", "Another Gibberish.", 8, 9, seen=(6, 9))
    memory.memos.edit(other.id, pinned=True)
    memory.memos.delete(other.id)
    memory.forget(memory_line(memory, 6))
    assert memory.memos.list() == []
    assert [entry.text for entry in memory.entries(source="treering:memos")] == [
        "A memo was deleted."
    ]
    assert b"Gibberish" not in bytes_of(path)


@pytest.mark.parametrize("sql", [store.TOUCHED, f"SELECT 1 {store.STANDS_FOR}"])
def test_the_memos_of_a_line_are_found_without_reading_them_all(memory: Memory, sql: str) -> None:
    with memory._database.read() as reader:
        marks = [1] * sql.count("?")
        plan = [str(row[3]) for row in reader.rows(f"EXPLAIN QUERY PLAN {sql}", marks)]
    assert plan
    assert not [step for step in plan if re.match("SCAN [a-z]$", step) or "space=?" in step]


def test_forgetting_a_change_erases_the_memo(memory: Memory, path: Path, sister: Memo) -> None:
    memory.memos.edit(sister.id, summary="Confidential remark.")
    memory.memos.edit(sister.id, pinned=True)
    said = [one.id for one in memory.entries(source="treering:memos")]
    memory.forget(said[0])
    assert memory.memos.list() == []
    assert list(memory.entries(source="treering:memos")) == []
    assert b"Confidential" not in bytes_of(path)


def test_a_deleted_memo_stays_deleted_when_one_of_its_lines_goes(
    memory: Memory, path: Path, sister: Memo
) -> None:
    memory.memos.delete(sister.id)
    memory.forget(sister.entry_ids[0])
    assert memory.memos.list() == []
    assert len(memory.memos.recent("chat")) == 8
    assert b"The rent is 900" not in bytes_of(path)


def memory_line(memory: Memory, position: int) -> str:
    [found] = [one for one in memory.entries(source="chat") if one.position == position]
    return found.id


def test_memos_are_found_by_their_words_and_by_those_of_their_lines(
    memory: Memory, sister: Memo, boat: Memo
) -> None:
    assert memory.memos.search("boat sail")[0].memo == boat
    best, second = memory.memos.search("what did Ines say of the euros", k=5)
    assert best.memo == sister
    assert best.score == pytest.approx(sum(best.why.terms.values()), abs=1e-4)
    assert best.score > second.score
    assert "topic" in best.why.terms
    by_words = memory.memos.search("boat sail", mode="lexical")[0]
    assert (by_words.memo, by_words.why.cosine) == (boat, None)
    assert memory.memos.search("boat")[0].why.cosine
    assert memory.memos.search("boat", source="nowhere") == []


def test_what_search_finds_is_the_memo_as_it_is_whatever_happens(memory: Memory) -> None:
    def found() -> list[Memo]:
        return sorted((hit.memo for hit in memory.memos.search("Ines boat")), key=lambda m: m.id)

    def there() -> list[Memo]:
        return sorted(memory.memos.list(), key=lambda memo: memo.id)

    memory.add(messages())
    memo = place(memory, "Ines", "Written.", 0, 3, seen=(0, 7))
    place(memory, "boat repair", "The boat needs a sail.", 8, 9)
    assert found() == there()
    memory.memos.edit(memo.id, topic="my sister", summary="Ines lives in Porto.")
    assert found() == there()
    memory.add("The boat sails again.", source="notes")
    assert found() == there()
    memory.forget(memory_line(memory, 6))  # which the edited memo was not drawn from
    assert [one.topic for one in found() if one.id == memo.id] == ["my sister"]
    memory.forget(memory_line(memory, 8))
    assert [one.id for one in found()] == [memo.id]
    assert memory.memos.search("sail", k=5, source="notes") == []


def test_the_topic_relation_lets_lines_of_one_memo_support_each_other(
    memory: Memory, sister: Memo, boat: Memo
) -> None:
    hits = memory.search("Ines", relations=["topic"], k=20)
    terms = {hit.position: hit.why.terms["topic"] for hit in hits}
    assert terms[1] == pytest.approx(terms[3])
    assert terms[1] > terms[5]
    assert terms[9] == 0.0  # no memo stands for it
