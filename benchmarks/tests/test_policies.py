import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, pstdev

import pytest

from treering.errors import InputError, UnknownName
from treering.llm.scripted import FakeLLM
from treering.search.relations.contract import Weighted
from treering.search.relations.decay import ContextRelation
from treering_bench.metrics.evidence import ranked_units, reached
from treering_bench.policy.contract import RetrievalPolicy
from treering_bench.policy.registry import policies
from treering_bench.space import TaskSpace
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion
from worlds import SAID, BagOfWords, remembered

ALL_UNITS = [f"D{n}" for n in range(len(SAID))]


def named(name: str, seed: int = 0) -> RetrievalPolicy:
    [policy] = policies([name], seed)
    return policy


def units(space: TaskSpace, name: str, question: int = 0, seed: int = 0) -> list[str]:
    policy = named(name, seed)
    assert policy.pick is not None
    return ranked_units(policy.pick(space, space.task.questions[question]))


def test_a_passage_carries_its_unit_its_day_its_speaker_and_its_place(space: TaskSpace) -> None:
    asked = space.task.questions[0]
    first = space.search(asked)[0]
    assert first.units == ("D0",)
    assert first.text == "(2026-01-01) Ana: My sister moved to Porto in spring."
    assert first.tokens == len(first.text)
    assert space.scored(asked)[0].passage == first
    assert [scored.passage.units[0] for scored in space.scored(asked)] == ALL_UNITS


def test_cutting_in_the_middle_takes_from_both_ends_in_turn(space: TaskSpace) -> None:
    assert units(space, "middle-cut") == ["D0", "D5", "D1", "D4", "D2", "D3"]


STORY = Task(
    "story",
    (Document("fox", (DocumentPiece("fox", " ".join(f"w{n:02d}" for n in range(40))),)),),
    (TaskQuestion("1", "Who?", ("a fox",)),),
)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("whole", "w00 w01 w02 w03 w04"),
        ("middle-cut", "w00 w01\n…\nw38 w39"),
        ("window", "w35 w36 w37 w38 w39"),
    ],
)
def test_of_a_story_in_one_piece_as_much_is_shown_as_fits(
    name: str, shown: str, tmp_path: Path, embedder: BagOfWords
) -> None:
    with remembered(STORY, embedder) as space:
        [asked] = STORY.questions
        picked = named(name).pick
        assert picked is not None
        [passage] = named(name).within(space, asked, picked(space, asked), 19)
        assert passage.text == shown
        assert (passage.tokens, passage.units) == (len(shown), ())
        [everything] = named(name).within(space, asked, picked(space, asked), 1000)
        assert everything.units == ("fox",)


@pytest.mark.parametrize("name", ["treering", "own", "bm25", "dense", "fusion", "rank-fusion"])
def test_every_searching_policy_ranks_all_and_finds_the_obvious(
    space: TaskSpace, name: str
) -> None:
    found = units(space, name)
    assert found[0] == "D0"
    assert sorted(found) == ALL_UNITS


def test_spelled_relations_replace_the_defaults(space: TaskSpace) -> None:
    asked = space.task.questions[1]
    spelled = named("with:context(w=0.9)@2").pick
    assert spelled is not None
    related = [Weighted(ContextRelation(w=0.9), 2.0)]
    assert spelled(space, asked) == space.search(asked, relations=related)
    assert spelled(space, asked) != space.search(asked, relations=())


def test_default_stands_for_the_relations_of_the_kind_of_content(space: TaskSpace) -> None:
    assert units(space, "with:default", 1) == units(space, "treering", 1)
    assert units(space, "with:default@0", 1) == units(space, "own", 1)


def test_the_lines_of_a_memo_support_each_other_once_a_model_has_written_them(
    tmp_path: Path, embedder: BagOfWords
) -> None:
    said = [*(f"Number {n}." for n in range(8)), "The boat leaks.", "A pity.", "It dries.", "So."]
    pieces = tuple(DocumentPiece(f"D{n}", text, "Ana", "user") for n, text in enumerate(said))
    asked = TaskQuestion("1", "Where does the boat leak?")
    task = Task("chat", (Document("session", pieces, chat=True),), (asked,))
    numbers = {"topic": "numbers", "summary": "Ana says numbers.", "start": 1, "end": 8}
    boat = {"topic": "boat", "summary": "Ana says the boat leaks.", "start": 9, "end": 10}
    llm = FakeLLM([json.dumps([numbers, boat])])
    [policy] = policies(["with:topic@2"], 0, writer=llm)
    with remembered(task, embedder, llm) as space:
        assert policy.pick is not None
        assert ranked_units(policy.pick(space, asked))[:2] == ["D8", "D9"]
        policy.pick(space, asked)
    assert (llm.left, len(llm.requests)) == (0, 1)


def test_plain_fusions_order_by_the_formulas(space: TaskSpace) -> None:
    asked = space.task.questions[1]
    scored = space.scored(asked)
    bm25 = [one.bm25 for one in scored]
    cosine = [one.cosine for one in scored]

    def z(values: list[float], place: int) -> float:
        return (values[place] - fmean(values)) / (pstdev(values) or 1)

    def rank(values: list[float], place: int) -> int:
        return 1 + sorted(range(len(values)), key=lambda n: -values[n]).index(place)

    def best_first(score: Callable[[int], float]) -> list[str]:
        return [ALL_UNITS[n] for n in sorted(range(len(scored)), key=lambda n: -score(n))]

    assert units(space, "fusion", 1) == best_first(lambda n: z(bm25, n) + z(cosine, n))
    assert units(space, "rank-fusion", 1) == best_first(
        lambda n: (1 / (60 + rank(bm25, n)) if bm25[n] > 0 else 0) + 1 / (60 + rank(cosine, n))
    )


def test_the_context_policy_fills_the_budget_with_what_memory_gives(space: TaskSpace) -> None:
    asked, policy = space.task.questions[0], named("context")
    assert policy.pick is None
    [filled] = policy.within(space, asked, (), 120)
    assert "D0" in filled.units
    assert 0 < filled.tokens <= 120
    assert "Porto" in filled.text


def test_memory_stream_adds_recency_to_relevance(space: TaskSpace) -> None:
    # "Who has a bicycle?" is like D3 only; of the rest, the later a turn the higher.
    nothing_alike = TaskQuestion("x", "zebra")
    picked = named("memory-stream").pick
    assert picked is not None
    ranking = ranked_units(picked(space, nothing_alike))
    assert ranking.index("D5") < ranking.index("D0")


def test_a_model_rates_each_piece_once(space: TaskSpace) -> None:
    llm = FakeLLM(["1", "Rating: 10", "1", "1", "1", "1"])
    [policy] = policies(["memory-stream+rated"], 0, llm)
    assert policy.pick is not None
    for question in space.task.questions:
        policy.pick(space, question)
    assert len(llm.requests) == len(SAID)
    assert "Memory: Ana: My sister moved" in llm.requests[0].text
    ranking = ranked_units(policy.pick(space, TaskQuestion("x", "zebra")))
    assert ranking.index("D1") < ranking.index("D0")


def test_memory_bank_forgets_by_the_curve_and_the_same_for_every_question(space: TaskSpace) -> None:
    kept = [set(units(space, "memory-bank", question)) for question in (0, 1, 2)]
    assert kept[0] == kept[1] == kept[2]
    assert "D5" in kept[0]  # said at the time of asking: R = 1
    drawn = [len(units(space, "memory-bank", seed=seed)) for seed in range(40)]
    # The expected number kept is Σ exp(-d/5) over d = 0…5 days: 3.85 of 6.
    assert sum(drawn) / len(drawn) == pytest.approx(3.85, abs=0.5)


def test_raptor_ranks_summaries_with_the_texts_and_counts_what_they_quote(space: TaskSpace) -> None:
    policy = named("raptor")
    assert policy.pick is not None
    picked = policy.pick(space, space.task.questions[0])
    assert picked[0].units == ("D0",)
    [root] = [passage for passage in picked if len(passage.units) > 1]
    assert len(picked) == len(SAID) + 1
    assert root.place == min(passage.place for passage in picked)
    said = {unit: f"{who}: {text}" for unit, (who, text) in zip(ALL_UNITS, SAID, strict=True)}
    assert set(root.units) == {unit for unit, text in said.items() if text in root.text}


def test_a_summary_leads_to_all_that_it_was_made_of_and_a_text_to_nothing_more(
    space: TaskSpace,
) -> None:
    space._memory.configure(tree_base=-1.0)  # everything below one topic
    for name in ("raptor", "tree"):
        policy = named(name)
        assert policy.pick is not None
        picked = policy.pick(space, space.task.questions[0])
        summaries = [passage for passage in picked if passage.sources]
        assert summaries, name
        for passage in summaries:
            assert set(passage.units) <= set(passage.sources)
            assert len(passage.sources) > 1
        assert set(reached(summaries)) == {u for passage in summaries for u in passage.sources}
        assert set(reached(picked)) == set(ALL_UNITS)


def test_all_stands_for_treering_and_every_baseline() -> None:
    names = [policy.name for policy in policies(["all", "with:session", "dense"], seed=0)]
    assert names[0] == "treering"
    assert {"context", "bm25", "dense", "fusion", "memory-stream", "memory-bank"} < set(names)
    assert {"whole", "middle-cut", "window", "with:session"} < set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("magic", UnknownName, "no policy 'magic'; there are all, "),
        ("memory-stream+rated", InputError, "needs ratings; name a model with --summaries"),
        ("with:default+topic", InputError, "needs memos; name a model with --summaries"),
        ("with:tree(w=1)", InputError, "tree takes no parameters, not w"),
        ("tree-traversal@x", InputError, "'x' is not a number of nodes"),
        ("chat:magic", UnknownName, "no chat policy 'magic'"),
        ("chat:memo", InputError, "needs memos; name a model with --summaries"),
        ("with:friendship", UnknownName, "no relation 'friendship'"),
        ("with:context(w=)", InputError, "not of the form"),
        ("with:context(w=1.5)", InputError, re.escape("1.5")),
        ("with:context(speed=1)", InputError, "context takes w, within, not speed"),
    ],
)
def test_a_policy_that_cannot_be_is_refused(
    name: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        policies([name], seed=0)


def test_a_chat_policy_shows_its_prompt_and_counts_rounds_shown_whole() -> None:
    pieces = tuple(
        DocumentPiece(f"R{n // 2}", f"{text} of round {n // 2}.", role, role)
        for n, (text, role) in enumerate([("A red bicycle", "user"), ("A boat", "assistant")] * 3)
    )
    asked = TaskQuestion("1", "Which was red?", evidence=frozenset({"R0"}))
    task = Task("chat", (Document("chat", pieces, chat=True),), (asked,))
    policy = named("chat:window")
    with remembered(task, BagOfWords()) as space:
        [wide] = policy.within(space, asked, (), 10_000)
        [narrow] = policy.within(space, asked, (), wide.tokens - 20)
        assert policy.prompt is not None
        messages = policy.prompt(space, asked, 10_000)
    assert set(wide.units) == {"R0", "R1", "R2"}
    assert set(narrow.units) == {"R1", "R2"}
    assert "R0" in narrow.sources  # the reply alone
    assert messages[-1].content in wide.text
