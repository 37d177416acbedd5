"""Corrections that can be taken back: retracted and proposed entries, and the history."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.examples import examples
from treering import Memory, copy_space
from treering.errors import InputError, JournalCorrupt, UnknownName
from treering.ingest import withheld
from treering.journal import entries, writing

pytestmark = pytest.mark.both_engines

LISBON = "Ana lives in Lisbon."
QUESTION = "Where does Ana live?"


def texts(memory: Memory) -> list[str]:
    return [hit.text for hit in memory.search(QUESTION, k=50)]


def whats(memory: Memory, entry_id: str) -> list[str]:
    return [correction.what for correction in memory.history(entry_id)]


def test_nothing_finds_a_retracted_entry_until_it_is_restored(memory: Memory) -> None:
    memory.add("Bob likes tea.", source="talk")
    [entry_id] = memory.add(
        LISBON, source="talk", speaker="Ana", at="2026-05-03", metadata={"a": [1]}, pin=True
    ).ids
    memory.add("Cleo plays chess.", source="talk")
    before, facts = memory.get(entry_id), memory.facts.all()
    memory.retract(entry_id, "she moved", by="bob")

    assert LISBON not in texts(memory)
    assert LISBON not in memory.context(QUESTION).text
    assert entry_id not in {entry.id for entry in memory.entries()}
    assert not [fact for fact in memory.facts.all() if fact.entry_id == entry_id]
    assert memory.spaces() == ["default"]
    assert memory.check() == []
    with pytest.raises(UnknownName):
        memory.get(entry_id)
    [held] = memory.withheld()
    assert held.entry == before
    assert (held.correction.by, held.correction.reason) == ("bob", "she moved")

    assert memory.restore(entry_id, by="ana") == before
    assert LISBON in texts(memory)
    assert memory.facts.all() == facts
    assert memory.withheld() == []
    assert whats(memory, entry_id) == ["retracted", "restored"]
    assert (
        memory.add(LISBON, source="talk", speaker="Ana", at="2026-05-03", metadata={"a": [1]}).ids
        == ()
    )


def test_a_proposal_waits_until_it_is_accepted(memory: Memory) -> None:
    memory.add("Bob likes tea.", source="talk")
    [entry_id] = memory.add(LISBON, source="talk", propose="agent").ids
    assert texts(memory) == ["Bob likes tea."]
    assert [held.correction.by for held in memory.withheld()] == ["agent"]
    assert memory.restore(entry_id).position == 1
    assert LISBON in texts(memory)
    assert whats(memory, entry_id) == ["proposed", "accepted"]
    memory.retract(entry_id)  # an accepted one keeps its place from then on
    memory.add("Cleo plays chess.", source="talk")
    assert memory.restore(entry_id).position == 1


def test_a_proposal_makes_a_new_space(memory: Memory, tmp_path: Path) -> None:
    memory.add([{"role": "user", "content": LISBON}], propose="agent")
    assert list(memory.entries()) == []
    assert len(memory.withheld(source="chat")) == 1
    assert memory.withheld(source="notes") == []
    with pytest.raises(InputError):
        memory.add(tmp_path, propose="agent")


def test_the_history_names_replacements_and_supersessions(memory: Memory) -> None:
    old, new = memory.add(LISBON).ids[0], memory.add("Ana lives in Porto.").ids[0]
    memory.replace(old, "Ana lives in Faro.", by="ana")
    memory.supersede(old, new, by="bob")
    memory.supersede(old, None)
    first, second, third = memory.history(old)
    assert (first.what, first.by) == ("replaced", "ana")
    assert (second.what, second.by, second.other) == ("superseded", "bob", new)
    assert (third.what, third.by) == ("holds again", None)
    assert first.at <= second.at <= third.at
    assert memory.history(new) == []
    with pytest.raises(UnknownName):
        memory.history("nothing")


@pytest.mark.parametrize(
    "forget",
    [
        lambda memory, entry_id: memory.forget(entry_id),
        lambda memory, _: memory.forget(source="arbutus"),
        lambda memory, _: memory.forget(speaker="Zebediah"),
        lambda memory, _: memory.forget_space("default"),
    ],
    ids=["id", "source", "speaker", "space"],
)
@pytest.mark.parametrize("proposed", [True, False])
def test_forgetting_erases_withheld_entries_and_their_history(
    open_memory: Open, forget: Callable[[Memory, str], object], proposed: bool
) -> None:
    memory = open_memory()
    [kept] = memory.add("Bob likes tea.").ids
    memory.retract(kept, "by mistake")
    memory.restore(kept)
    [entry_id] = memory.add(
        "The key lies under the gardenia.",
        source="arbutus",
        speaker="Zebediah",
        propose="agent" if proposed else None,
    ).ids
    if not proposed:
        memory.retract(entry_id, "told by heliotrope")
    forget(memory, entry_id)
    with pytest.raises(UnknownName):
        memory.history(entry_id)
    with pytest.raises(UnknownName):
        memory.restore(entry_id)
    export = ""
    if memory.spaces():
        assert memory.withheld() == []
        assert whats(memory, kept) == ["retracted", "restored"]
        export = "\n".join(memory.export())
    for word in ("gardenia", "Zebediah", "heliotrope", "arbutus"):
        assert word not in export
        if (file := memory._database.file) is not None:
            memory.settle()
            for part in file.parent.glob(f"{file.name}*"):
                assert word.encode() not in part.read_bytes(), (word, part)


def test_spaces_do_not_see_withheld_entries_of_others(open_memory: Open) -> None:
    ana, bob = open_memory(space="ana"), open_memory(space="bob")
    bob.add("Bob likes tea.")
    [entry_id] = ana.add(LISBON).ids
    ana.retract(entry_id)
    assert bob.withheld() == []
    for call in (bob.restore, bob.history, bob.forget):
        with pytest.raises(UnknownName):
            call(entry_id)
    with pytest.raises(InputError):
        ana.forget_space("\tana")
    assert [held.entry.id for held in ana.withheld()] == [entry_id]


def test_imports_do_not_bring_a_retracted_entry_back(memory: Memory) -> None:
    [entry_id] = memory.add(LISBON).ids
    lines = list(memory.export())
    memory.retract(entry_id)
    memory.import_(lines)
    assert list(memory.entries()) == []
    memory.restore(entry_id)
    assert memory.import_(lines).added == 0


def test_an_export_and_a_copy_hold_what_is_withheld(open_memory: Open, tmp_path: Path) -> None:
    memory = open_memory()
    memory.add("Bob likes tea.")
    memory.retract(memory.add(LISBON).ids[0], "she moved")
    memory.add("Cleo plays chess.", propose="agent")
    with Memory.open(tmp_path / "copy.db", llm="none") as copied:
        copy_space(memory, copied)
        assert copied.withheld() == memory.withheld()
        assert sorted(copied.export())[1:] == sorted(memory.export())[1:]
        entry_id = memory.withheld()[0].entry.id
        assert copied.restore(entry_id) == memory.restore(entry_id)


def test_text_that_was_added_again_is_not_doubled(memory: Memory) -> None:
    [entry_id] = memory.add(LISBON).ids
    memory.retract(entry_id)
    memory.add(LISBON)
    with pytest.raises(InputError):
        memory.restore(entry_id)
    assert [entry.text for entry in memory.entries()] == [LISBON]
    assert [held.entry.id for held in memory.withheld()] == [entry_id]


def test_a_retraction_that_was_cut_short_leaves_no_older_text(memory: Memory) -> None:
    [entry_id] = memory.add(LISBON).ids
    with memory._space.read() as reader:
        copies = withheld.copies(reader, [entries.seq_of(reader, reader.id, entry_id)])
    withheld.withhold(memory._space, copies, (None, None))
    assert memory.withheld() == []  # it is still there
    memory.replace(entry_id, "Ana lives in Faro.")
    assert "Lisbon" not in "\n".join(memory.export())
    withheld.withhold(memory._space, copies, (None, None))
    memory.retract(entry_id)
    assert memory.restore(entry_id).text == "Ana lives in Faro."


def test_a_proposal_without_its_correction_is_listed_and_accepted(memory: Memory) -> None:
    [entry_id] = memory.add(LISBON, propose="agent").ids
    with memory._space.withheld.write() as writer:
        writing.erase(writer, list(withheld.notes(writer, [entry_id])))
    assert [held.correction.what for held in memory.withheld()] == ["proposed"]
    assert memory.restore(entry_id).text == LISBON


BAD_CORRECTIONS: tuple[dict[str, object], ...] = (
    {"entry_id": "x", "what": "eaten"},
    {"entry_id": 1, "what": "retracted"},
    {"what": "retracted"},
    {"entry_id": "x"},
    {"entry_id": "x", "what": "retracted", "who": "Ana"},
)


def test_an_import_with_a_correction_that_cannot_be_read_changes_nothing(memory: Memory) -> None:
    [entry_id] = memory.add(LISBON).ids
    memory.retract(entry_id)
    lines = list(memory.export())
    [place] = [place for place, line in enumerate(lines) if "treering:history" in line]
    fields = json.loads(lines[place])
    for metadata in BAD_CORRECTIONS:
        fields["withheld"] |= {"id": "other", "metadata": metadata}
        with pytest.raises(InputError):
            memory.import_([*lines[:place], json.dumps(fields), *lines[place + 1 :]])
        assert len(memory.history(entry_id)) == len(memory.withheld()) == 1
    memory.forget(entry_id)


@given(st.lists(st.sampled_from(["retract", "restore", "forget"]), max_size=6))
@examples(5)
def test_any_history_leaves_what_was_asked_for(open_memory: Open, steps: list[str]) -> None:
    memory = open_memory()
    memory.add("Bob likes tea.")
    [entry_id] = memory.add(LISBON).ids
    state = "there"
    for step in steps:
        allowed = {
            "retract": state == "there",
            "restore": state == "held",
            "forget": state != "gone",
        }
        call = getattr(memory, step)
        if not allowed[step]:
            with pytest.raises(UnknownName):
                call(entry_id)
            continue
        call(entry_id)
        state = {"retract": "held", "restore": "there", "forget": "gone"}[step]
    assert (LISBON in texts(memory)) == (state == "there")
    assert (len(memory.withheld()) == 1) == (state == "held")
    memory.forget_space("default")


def test_forgetting_reads_the_corrections_of_what_it_erases_alone(memory: Memory) -> None:
    ana, ben = (memory.add(text).ids[0] for text in (LISBON, "Ben likes trains."))
    for each in (ana, ben):
        memory.retract(each)
        memory.restore(each)
    with memory._space.withheld.write() as writer:
        for seq in withheld.notes(writer, [ben]):
            writer.execute("UPDATE entry SET digest = zeroblob(9) WHERE seq = ?", (seq,))
            break
    assert memory.forget(ana).entries == (ana,)
    with pytest.raises(JournalCorrupt):
        memory.history(ben)
