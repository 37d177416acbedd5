"""Metrics on examples worked by hand, and answers scored by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering.arrays import Floats
from treering.errors import InputError
from treering.llm.scripted import FakeLLM
from treering_bench.answer import AnswerSettings, ScoredAnswer, answer, score
from treering_bench.metrics.answers import (
    edit_similarity,
    exact_match,
    normalised,
    rouge_l_recall,
    token_f1,
)
from treering_bench.metrics.evidence import (
    RetrievedPassage,
    by_rank,
    overall,
    ranked_units,
    recall,
    within_budget,
)
from treering_bench.metrics.memos import MatchCounts, MemoEntry, bert_score, summaries, topics
from treering_bench.metrics.rounds import RoundScore, followed
from treering_bench.prompts import answer_prompt
from treering_bench.stats import bootstrap, paired_difference
from treering_bench.task import TaskQuestion

WORDS = st.lists(st.sampled_from(["cat", "sat", "mat", "dog", "ran"]), max_size=8)

# ---------------------------------------------------------------- evidence


def test_a_hand_worked_ranking_has_the_values_of_the_definitions() -> None:
    # Evidence b, d, z; found at ranks 2 and 4 of five; z is never found.
    ranking, evidence = [RetrievedPassage((unit,), 1) for unit in "abcde"], frozenset("bdz")
    measured = by_rank(ranking, evidence)
    assert measured["recall@3"] == pytest.approx(1 / 3)
    assert measured["recall@5"] == recall(list("abcde"), evidence) == pytest.approx(2 / 3)
    assert measured["precision@5"] == pytest.approx(2 / 5)
    assert measured["precision@10"] == pytest.approx(2 / 10)  # an empty place holds no evidence
    assert measured["mrr"] == pytest.approx(1 / 2)
    # (1/log2 3 + 1/log2 5) / (1 + 1/log2 3 + 1/log2 4) = 1.061 606 / 2.130 930
    assert measured["ndcg@5"] == pytest.approx(0.498189, abs=1e-6)


@pytest.mark.parametrize("ranking", [[], [RetrievedPassage(("a",), 0)]])
def test_a_ranking_without_evidence_scores_zero_everywhere(
    ranking: list[RetrievedPassage],
) -> None:
    assert set(by_rank(ranking, frozenset("z")).values()) == {0.0}


def test_units_are_ranked_by_the_first_passage_and_tokens_are_the_passages() -> None:
    passages = [RetrievedPassage((f"u{n}", "again"), 100) for n in range(12)]
    evidence = frozenset({"u1", "u11"})
    assert ranked_units(passages)[:4] == ["u0", "again", "u1", "u2"]
    assert by_rank(passages, evidence)["tokens@10"] == 1000
    assert overall(passages, evidence) == {"recall@all": 1.0, "tokens@all": 1200.0}
    measured = by_rank([RetrievedPassage((f"u{n}",), 1) for n in range(12)], frozenset({"u4", "x"}))
    assert [measured[f"any@{k}"] for k in (3, 5, 10)] == [0.0, 1.0, 1.0]


def test_a_budget_keeps_the_head_that_fits_and_stops_at_the_first_that_does_not() -> None:
    passages = [RetrievedPassage((unit,), size) for unit, size in zip("abc", (60, 50, 10))]  # noqa: B905
    assert within_budget(passages, 110) == passages[:2]
    assert within_budget(passages, 109) == passages[:1]
    assert within_budget(passages, 59) == []


# ---------------------------------------------------------------- texts


def test_token_f1_counts_normalised_words_as_often_as_both_sides_have_them() -> None:
    assert normalised("The  Cat, an  owl's\nA-team!") == "cat owls ateam"
    # Answer words: cat sat on mat (4); reference: cat sat (2); shared 2: P 2/4, R 2/2, F1 2/3.
    assert token_f1("The cat sat on the mat.", ["a cat sat"]) == pytest.approx(2 / 3)
    assert token_f1("no no no", ["no"]) == pytest.approx(2 * 1 / (3 + 1))
    assert token_f1("the", ["a"]) == 1.0
    assert token_f1("", ["something"]) == 0.0


def test_the_best_reference_counts() -> None:
    assert token_f1("Porto", ["Lisbon", "Porto, Portugal"]) == pytest.approx(2 / 3)
    assert exact_match("the Porto", ["Lisbon", "porto."]) == 1.0
    assert exact_match("Porto", ["Lisbon", "Porto, Portugal"]) == 0.0
    assert rouge_l_recall("Porto", ["Lisbon", "Porto"]) == 1.0


def test_rouge_l_recall_of_lins_example_and_edit_similarity_of_kitten_and_sitting() -> None:
    # Lin (2004): "police killed the gunman" against "police kill the gunman": LCS 3 of 4;
    # "the gunman kill police": LCS 2 of 4.
    reference = ["police killed the gunman"]
    assert rouge_l_recall("police kill the gunman", reference) == pytest.approx(3 / 4)
    assert rouge_l_recall("the gunman kill police", reference) == pytest.approx(2 / 4)
    assert edit_similarity("kitten", "sitting") == pytest.approx(1 - 3 / 7)
    assert edit_similarity("", "") == 1.0


def _naive_lcs(a: list[str], b: list[str]) -> int:
    if not a or not b:
        return 0
    if a[-1] == b[-1]:
        return 1 + _naive_lcs(a[:-1], b[:-1])
    return max(_naive_lcs(a[:-1], b), _naive_lcs(a, b[:-1]))


@given(WORDS, WORDS.filter(bool))
def test_rouge_l_recall_equals_the_recursive_definition(
    answer: list[str], reference: list[str]
) -> None:
    expected = _naive_lcs(answer, reference) / len(reference)
    assert rouge_l_recall(" ".join(answer), [" ".join(reference)]) == pytest.approx(expected)


# ---------------------------------------------------------------- memos and rounds

REFERENCE = [MemoEntry("Porto", "user moved.", 1, 4), MemoEntry("numbers", "user counts.", 5, 8)]
VOCABULARY = {"user": 0, "moved": 1, "counts": 2, "sleeps": 3}


def one_hot(text: str) -> Floats:
    places = [VOCABULARY[word.strip(".")] for word in text.split()]
    return np.eye(len(VOCABULARY), dtype=np.float32)[places]


def test_topics_count_where_the_range_and_the_words_are_the_references() -> None:
    predicted = [
        MemoEntry("porto ", "", 1, 4),
        MemoEntry("digits", "", 5, 8),
        MemoEntry("Porto", "", 9, 9),
    ]
    assert topics(predicted, REFERENCE) == MatchCounts(1, 3, 2)
    assert topics(predicted, REFERENCE).f1 == pytest.approx(2 * 1 / (3 + 2))
    assert topics([MemoEntry("Porto", "", 1, 5)], REFERENCE).f1 == 0.0


def test_summaries_count_by_range_and_then_by_likeness() -> None:
    predicted = [MemoEntry("a", "user moved.", 1, 4), MemoEntry("b", "user sleeps.", 5, 8)]
    assert summaries(predicted, REFERENCE).f1 == 1.0
    # "user sleeps" shares one of two tokens with "user counts": precision, recall and F1 are 1/2.
    assert summaries(predicted, REFERENCE, bert_score(one_hot)).f1 == pytest.approx(0.75)
    score = bert_score(one_hot)
    assert score("user", "user moved") == pytest.approx(2 / 3)  # precision 1/1, recall 1/2
    assert score("moved", "sleeps") == score("", "user") == 0.0


def test_a_dialogue_about_code_worked_by_hand() -> None:
    outcomes = [[True], [True, True], [False, True, True], [True, True, True, False]]
    assert list(followed(outcomes)) == [
        RoundScore(1.0, 1.0, None),
        RoundScore(1.0, 1.0, 0.0),
        RoundScore(1.0, 2 / 3, 0.5),
        RoundScore(0.0, 0.75, 0.0),
    ]
    assert [one.ifr for one in followed([[False], [False, False]])] == [None, None]


# ---------------------------------------------------------------- intervals


def test_pairing_finds_a_small_steady_gain_that_the_spread_would_hide() -> None:
    rng = np.random.default_rng(0)
    old = rng.random(300)
    new = old + 0.01
    gain = paired_difference(new.tolist(), old.tolist())
    assert gain.verdict == "better"
    assert gain.mean == pytest.approx(0.01)
    assert bootstrap(new.tolist()).low < bootstrap(old.tolist()).high
    noise = np.random.default_rng(2).normal(0, 1, 100)
    even = paired_difference((noise - noise.mean()).tolist(), [0.0] * 100)
    assert even.verdict == "no difference"


def test_samples_that_cannot_be_resampled_are_refused() -> None:
    for values in ([], [float("nan")]):
        with pytest.raises(InputError, match="one or more finite"):
            bootstrap(values)
    with pytest.raises(InputError, match="cannot pair 2 values with 1"):
        paired_difference([1.0, 2.0], [1.0])


# ---------------------------------------------------------------- answers of a model

OPEN = TaskQuestion("1", "Where {does} Ana live?", answers=("Porto", "in Porto, Portugal"))
CHOICE = TaskQuestion("2", "Which?", answers=("a cat",), options=("a dog", "a cat"))


def asked(
    question: TaskQuestion, llm: FakeLLM, prompt: str, context: str = "", **how: object
) -> ScoredAnswer:
    settings = AnswerSettings(llm, answer_prompt(prompt), **how)  # type: ignore[arg-type]
    return answer(question, settings.messages(question, context), settings, "user: I am Ana")


def test_the_prompt_is_the_papers_with_context_and_question_as_they_are() -> None:
    llm = FakeLLM([" Porto, Portugal \n"])
    answered = asked(OPEN, llm, "story", "Ana {moved}.", temperature=1.0, seed=7)
    [request] = llm.requests
    assert request.text.startswith("You are given a story")
    assert "Story: Ana {moved}.\n\nNow, answer" in request.text
    assert "Question: Where {does} Ana live?\n\nAnswer:" in request.text
    assert (request.temperature, request.seed, request.max_tokens) == (1.0, 7, 128)
    assert answered.text == "Porto, Portugal"
    assert answered.metrics["token_f1"] == pytest.approx(2 * 2 / (2 + 3))
    assert (answered.metrics["exact_match"], answered.metrics["rouge_l_recall"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("reply", "accuracy"),
    [("B", 1.0), ("(B) a cat", 1.0), ("A", 0.0), ("The answer is B.", 1.0), ("a cat", 0.0)],
)
def test_a_choice_is_read_by_its_letter(reply: str, accuracy: float) -> None:
    assert score(CHOICE, reply) == {"accuracy": accuracy}


@pytest.mark.parametrize(("verdict", "judged"), [("1", 1.0), ("0", 0.0), ("'1'", 1.0)])
def test_the_judge_says_whether_the_answer_matches(verdict: str, judged: float) -> None:
    judge = FakeLLM([verdict])
    answered = asked(OPEN, FakeLLM(["Porto"]), "search-results", judge=judge)
    assert answered.metrics["judged"] == judged
    assert "[ Ground-Truth Answer ]\nPorto\n" in judge.requests[0].text
    assert (answered.usage.calls, answered.judging.calls) == (1, 1)


def test_without_a_reference_the_judge_rates_faithfulness_to_the_rounds_asked_about() -> None:
    judge = FakeLLM(["Faithful on the whole. [[85]]"])
    who = TaskQuestion("1", "Who am I?")
    answered = asked(who, FakeLLM(["Hi Ana"]), "chat", "user: The wrong round", judge=judge)
    assert answered.metrics == {"rating": 0.85}
    shown = judge.requests[0].text
    assert "Related Conversation History\n\nuser: I am Ana\n" in shown
    assert "The wrong round" not in shown


@pytest.mark.parametrize("verdict", ["Well, yes.", "[[850]]"])
def test_a_verdict_that_cannot_be_read_is_kept_and_is_no_score(verdict: str) -> None:
    judge = FakeLLM([verdict])
    answered = asked(TaskQuestion("1", "?"), FakeLLM(["x"]), "chat", judge=judge)
    assert answered.metrics == {}
    assert answered.unread == {"rating": verdict}
