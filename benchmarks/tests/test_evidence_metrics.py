import pytest

from treering_bench.metrics.evidence import (
    RetrievedPassage,
    by_rank,
    overall,
    ranked_units,
    recall,
    within_budget,
)


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


def test_an_empty_ranking_finds_nothing() -> None:
    assert set(by_rank([], frozenset("b")).values()) == {0.0}


def test_a_ranking_without_evidence_scores_zero_everywhere() -> None:
    measured = by_rank([RetrievedPassage(("a",), 3)], frozenset("z"))
    assert measured.pop("tokens@10") == 3
    assert set(measured.values()) == {0.0}


def test_units_are_ranked_by_the_first_passage_that_reaches_them() -> None:
    passages = [
        RetrievedPassage(("b", "c"), 1),
        RetrievedPassage(("a", "b"), 1),
        RetrievedPassage(("d",), 1),
    ]
    assert ranked_units(passages) == ["b", "c", "a", "d"]


def test_a_budget_keeps_the_head_that_fits_and_stops_at_the_first_that_does_not() -> None:
    passages = [
        RetrievedPassage(("a",), 60),
        RetrievedPassage(("b",), 50),
        RetrievedPassage(("c",), 10),
    ]
    assert within_budget(passages, 110) == passages[:2]
    assert within_budget(passages, 109) == passages[:1]
    assert within_budget(passages, 59) == []


def test_tokens_are_those_of_the_passages_not_of_the_units() -> None:
    passages = [RetrievedPassage((f"u{n}", "again"), 100) for n in range(12)]
    evidence = frozenset({"u1", "u11"})
    assert by_rank(passages, evidence)["tokens@10"] == 1000
    assert overall(passages, evidence) == {"recall@all": 1.0, "tokens@all": 1200.0}
    assert by_rank(passages, evidence)["recall@5"] == 0.5


def test_any_of_the_evidence_counts_from_the_rank_of_the_first() -> None:
    measured = by_rank([RetrievedPassage((f"u{n}",), 1) for n in range(12)], frozenset({"u4", "x"}))
    assert [measured[f"any@{k}"] for k in (3, 5, 10)] == [0.0, 1.0, 1.0]
