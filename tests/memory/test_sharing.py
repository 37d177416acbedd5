"""Several spaces in one call: ranked as one space with all entries, and blind to all others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from tests.examples import examples
from treering import Hit, Memory
from treering.errors import InputError, UnknownName, UnknownSpace
from treering.llm.scripted import FakeLLM

pytestmark = pytest.mark.both_engines

ANA = [
    *("I moved to Porto in May.", "My sister keeps bees on the roof.", "Bees like the lime tree."),
    "The bees swarm in June.",
]
TEAM = [
    *("The office in Porto opens in June.", "We meet on Mondays in the roof garden."),
    *(
        "Bees are not allowed inside the office.",
        "Lunch is at noon.",
        "The garden has a lime tree.",
    ),
]
BOTH = ["ana", "team"]
WORDS = st.sampled_from(
    ["porto", "bees", "office", "roof", "lime", "tree", "june", "may", "meets", "noon"]
)
REFUSED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "as_of": {"as_of": "2030-01-01"},
    "nowhere": {"source": "nowhere"},
}
QUESTIONS = st.lists(WORDS, min_size=1, max_size=5, unique=True).map(" ".join)


@pytest.fixture
def ana(open_memory: Open) -> Memory:
    """The memory of Ana, beside a team, a space with all entries of both, and one of a stranger."""
    memories = {name: open_memory(space=name) for name in (*BOTH, "whole", "stranger")}
    for name, texts in (("ana", ANA), ("team", TEAM)):
        for place in (name, "whole"):
            for number, text in enumerate(texts):
                memories[place].add(text, source=f"{name}/{number}")
    memories["stranger"].add("Porto, bees and roofs are secret.")
    return memories["ana"]


def scores_by_text(hits: list[Hit]) -> Any:
    """Compare as equal with those of a search whose scores are the same but for rounding."""
    return {text: pytest.approx(score, abs=1e-4) for text, score in plain_scores(hits).items()}


def plain_scores(hits: list[Hit]) -> dict[str, float]:
    assert len({hit.text for hit in hits}) == len(hits)
    return {hit.text: hit.score for hit in hits}


@examples(12)
@given(question=QUESTIONS, mode=st.sampled_from(["hybrid", "lexical", "dense"]))
def test_two_spaces_score_as_one_with_all_entries(
    ana: Memory, open_memory: Open, question: str, mode: Any
) -> None:
    how: dict[str, Any] = {"relations": (), "all": True, "k": 50, "mode": mode}
    together = ana.search(question, spaces=BOTH, **how)
    alone = open_memory(space="whole").search(question, **how)
    assert plain_scores(together) == scores_by_text(alone)
    assert {hit.space for hit in together} == set(BOTH)
    assert [hit.score for hit in together] == sorted((h.score for h in together), reverse=True)
    for hit in together:
        assert hit.score == pytest.approx(sum(hit.why.terms.values()), abs=1e-4)


@examples(6)
@given(question=QUESTIONS, secret=st.lists(WORDS, min_size=1, max_size=5).map(" ".join))
def test_a_space_that_is_not_asked_changes_nothing(
    ana: Memory, open_memory: Open, question: str, secret: str
) -> None:
    before = ana.search(question, spaces=BOTH), ana.context(question, spaces=BOTH)
    open_memory(space="stranger").add(secret)
    assert (ana.search(question, spaces=BOTH), ana.context(question, spaces=BOTH)) == before


@examples(8)
@given(question=QUESTIONS)
def test_one_space_by_name_is_a_plain_search(ana: Memory, open_memory: Open, question: str) -> None:
    team = open_memory(space="team")
    assert ana.search(question, spaces=["ana"]) == ana.search(question)
    assert ana.search(question, spaces=["team", "team"]) == team.search(question)
    assert ana.context(question, spaces=["team"]) == team.context(question)


def test_a_space_that_is_not_there_is_an_error_but_for_the_own_one(
    ana: Memory, open_memory: Open
) -> None:
    with pytest.raises(UnknownSpace):
        ana.search("bees", spaces=["ana", "tema"])
    for wrong in ([], "team", ["ana", ""]):
        with pytest.raises(InputError):
            ana.search("bees", spaces=wrong)
    with pytest.raises(InputError):
        ana.search("bees", spaces=BOTH, level="summaries")
    new = open_memory(space="ben")
    assert new.search("bees", spaces=["ben", "team"]) == ana.search("bees", spaces=["team"])
    with pytest.raises(UnknownSpace):
        new.search("bees", spaces=["ben"])


def test_a_context_names_the_spaces_and_pinned_entries_come_first(ana: Memory) -> None:
    [pinned] = [entry for entry in ana.entries() if entry.text == ANA[0]]
    ana.pin(pinned.id)
    context = ana.context("office inside noon", spaces=BOTH, budget=40)
    assert "ana: ana/0" in context.text
    assert "team: team/" in context.text
    assert ana.context("office", spaces=BOTH, min_confidence=0.99).passages == ()


def test_equal_texts_of_two_spaces_are_one_hit(ana: Memory, open_memory: Open) -> None:
    open_memory(space="team").add(ANA[3])
    [hit] = [
        hit for hit in ana.search("When do the bees swarm?", spaces=BOTH) if hit.text == ANA[3]
    ]
    assert hit.times == 2
    assert len(ana.search("When do the bees swarm?", spaces=BOTH, all=True)) == 10


def test_a_space_of_another_model_is_asked_by_its_own(ana: Memory, open_memory: Open) -> None:
    other = HashingEmbedder("other", dimension=32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("treering.sharing.open_embedder", lambda _: other)
        small = open_memory(space="small", embedder=other)
        small.add("Bees sleep in winter.")
        hits = ana.search("Do bees sleep in winter?", spaces=["ana", "small"])
        assert (hits[0].space, hits[0].text) == ("small", "Bees sleep in winter.")
        assert ana.context("bees", spaces=["ana", "small"]).passages


def test_ask_and_chat_see_all_spaces(open_memory: Open, ana: Memory) -> None:
    llm = FakeLLM(["The office opens in June [1]."] * 3)
    talking = open_memory(space="ana", llm=llm)
    answer = talking.ask("When does the office open?", spaces=BOTH)
    assert answer.citations[0].hits[0].space in BOTH
    assert TEAM[0] in str(talking.chat_prompt("When does the office open?", spaces=BOTH))
    assert TEAM[0] not in str(talking.chat_prompt("When does the office open?"))
    assert TEAM[0] in str(talking.chat_prompt("When does the office open?", spaces=["team"]))
    reply = talking.chat("When does the office open?", spaces=BOTH)
    assert any(TEAM[0] in evidence.text for evidence in reply.evidences)
    [entry] = open_memory(space="team").entries(source="team/0")
    open_memory(space="team").share([entry.id], to="ana")
    assert str(talking.chat_prompt("When does the office open?", spaces=BOTH)).count(TEAM[0]) == 1
    with pytest.raises(UnknownSpace):
        talking.chat("Hello?", spaces=["tema"])
    assert not any(entry.text == "Hello?" for entry in talking.entries())


# ---------------------------------------------------------------------- share


def test_a_shared_entry_is_copied_once_with_its_origin(ana: Memory, open_memory: Open) -> None:
    first, second, *_ = ana.entries()
    team = open_memory(space="team")
    receipt = ana.share([second.id, first.id], to="team")
    assert receipt.added == 2
    assert receipt.pending == 0
    assert ana.share([first.id], to="team").ids == ()
    copies = list(team.entries(source="shared/ana"))
    assert [copy.text for copy in copies] == [first.text, second.text]
    assert copies[0].metadata == {"shared_from": {"space": "ana", "id": first.id}}
    assert replace(copies[0], added=first.added, id=first.id, source=first.source, metadata={}) == (
        replace(first, position=0)
    )
    # Whoever has a copy may pass it on: the origin stays the first.
    open_memory(space="ben", create=True)
    team.share([copies[0].id], to="ben")
    [passed_on] = open_memory(space="ben").entries()
    assert passed_on.metadata == copies[0].metadata


def test_nothing_is_shared_with_a_space_that_is_not_there(ana: Memory) -> None:
    [entry, *_] = ana.entries()
    spaces = ana.spaces()
    with pytest.raises(UnknownSpace):
        ana.share([entry.id], to="tema")
    with pytest.raises(UnknownName):
        ana.share([entry.id, "unknown"], to="team")
    for ids, to in (([entry.id], "ana"), ([], "team"), (entry.id, "team")):
        with pytest.raises(InputError):
            ana.share(ids, to=to)
    assert ana.spaces() == spaces


def test_a_changed_text_is_not_shared_over_the_earlier_one(ana: Memory, open_memory: Open) -> None:
    [entry, *_] = ana.entries()
    ana.share([entry.id], to="team")
    ana.replace(entry.id, "I moved to Lisbon in May.")
    with pytest.raises(InputError):
        ana.share([entry.id], to="team")
    [copy] = open_memory(space="team").entries(source="shared/ana")
    open_memory(space="team").forget(copy.id)
    ana.share([entry.id], to="team")  # on purpose, so no tombstone keeps it away
    [copy] = open_memory(space="team").entries(source="shared/ana")
    assert copy.text == "I moved to Lisbon in May."


def test_forget_names_the_copies_that_stay_and_erases_them_on_request(
    ana: Memory, open_memory: Open
) -> None:
    first, second, third, *_ = ana.entries()
    team, ben = open_memory(space="team"), open_memory(space="ben", create=True)
    ana.share([first.id, second.id], to="team")
    ana.share([first.id], to="ben")
    assert ana.forget(third.id).copies == 0
    assert ana.forget(second.id).copies == 1
    assert team.search(second.text, k=1)[0].text == second.text
    assert ana.retract(first.id).copies == 2
    ana.restore(first.id)
    done = ana.forget(source=first.source, copies=True)
    assert (done.entries, done.copies, done.views["copies"]) == ((first.id,), 0, 2)
    assert [copy.text for copy in team.entries(source="shared/ana")] == [second.text]
    assert list(ben.entries()) == []


def test_copies_are_erased_after_their_original_and_after_a_move_of_the_memory(
    ana: Memory, open_memory: Open, tmp_path: Path
) -> None:
    first, second, *_ = ana.entries()
    ana.share([first.id, second.id], to="team")
    assert ana.forget(first.id).copies == 1
    done = ana.forget(first.id, copies=True)
    assert (done.entries, done.copies, done.scrubbed) == ((), 0, True)
    [copy] = open_memory(space="team").entries(source="shared/ana")
    assert copy.text == second.text
    with pytest.raises(UnknownName):
        ana.forget(first.id, copies=True)
    with pytest.raises(UnknownName):
        ana.forget(second.id, source="nowhere", copies=True)
    assert open_memory(space="team").get(copy.id) == copy
    moved = {name: open_memory(tmp_path / "moved.db", space=name) for name in BOTH}
    for name, memory in moved.items():
        memory.import_(open_memory(space=name).export())
    assert moved["ana"].forget(second.id).copies == 1


def test_a_copy_is_no_claim_on_the_original(ana: Memory, open_memory: Open) -> None:
    """Neither what is forgotten in the team nor a made-up origin erases anything of Ana."""
    [entry, *_] = ana.entries()
    ana.share([entry.id], to="team")
    team = open_memory(space="team")
    [copy] = team.entries(source="shared/ana")
    forged = team.add("Mine.", metadata={"shared_from": {"space": "ana", "id": entry.id}})
    team.forget(copy.id, *forged.ids, copies=True)
    assert ana.get(entry.id).text == entry.text


@pytest.mark.parametrize("retracted", ["original", "copy"])
def test_a_retracted_entry_is_erased_with_its_copies(
    ana: Memory, open_memory: Open, retracted: str
) -> None:
    [entry, *_] = ana.entries()
    ana.share([entry.id], to="team")
    team = open_memory(space="team")
    [copy] = team.entries(source="shared/ana")
    if retracted == "copy":
        team.retract(copy.id, "It is private.")
    else:
        ana.retract(entry.id, "It is wrong.")
    done = ana.forget(entry.id, copies=True)
    assert (done.entries, done.copies) == ((entry.id,), 0)
    assert list(team.entries(source="shared/ana")) == []
    with pytest.raises(UnknownName):
        team.restore(copy.id)
    with pytest.raises(UnknownName):
        ana.restore(entry.id)


@pytest.mark.parametrize("chosen", ["nothing", "as_of", "nowhere"])
def test_a_forget_that_is_refused_erases_no_copies(
    ana: Memory, open_memory: Open, chosen: str
) -> None:
    shared = [entry.id for entry in ana.entries()]
    ana.share(shared, to="team")
    with pytest.raises((InputError, UnknownName)):
        ana.forget(copies=True, **REFUSED[chosen])
    assert len(list(open_memory(space="team").entries(source="shared/ana"))) == len(shared)
