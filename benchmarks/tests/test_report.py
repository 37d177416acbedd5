from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from treering.errors import InputError
from treering_bench.report import Scores, cases, compare, report, summary
from treering_bench.results import QuestionResult, RunHeader

RUN = RunHeader(
    benchmark="locomo",
    data_sha256="d" * 64,
    seed=0,
    settings={"level": "evidence"},
    commit="c" * 40,
    versions={"treering": "0.1.0", "python": "3.11.9"},
    machine={},
    started="2026-01-01T00:00:00+00:00",
)


def scores(run: RunHeader = RUN, **recalls: list[float]) -> Scores:
    lines = [
        QuestionResult(policy, "chat", str(n), "ab"[n % 2], _metrics(value))
        for policy, values in recalls.items()
        for n, value in enumerate(values)
    ]
    return Scores.group(run, lines)


def _metrics(value: float) -> Mapping[str, float]:
    budgets = {f"recall@{budget}tokens": value for budget in (250, 500, 1000, 2000)}
    return {"recall@10": value, "tokens@10": 1234.0, **budgets}


def rows(page: str) -> dict[str, list[str]]:
    split = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")]
    return {cells[0]: cells[1:] for cells in reversed(split)}


def test_a_report_gives_means_intervals_and_the_difference_to_the_reference() -> None:
    page = report(scores(fusion=[0.5] * 40, treering=[0.75] * 40))
    assert "Commit `cccccccccccc`" in page
    table = rows(page)
    assert table["fusion"][:4] == ["40", "50.0 [50.0, 50.0]", "0.0", "1,234"]
    assert table["treering"][-1] == "+25.0 [+25.0, +25.0]"


def test_costs_are_shown_as_they_are() -> None:
    found = [line("memo", str(n), {}, **{"tokens prompt": 355.0}) for n in range(3)]
    assert "| memo | 3 | 355.0 [355.0, 355.0] |" in report(Scores.group(RUN, found))


def test_a_report_says_no_difference_when_there_is_none() -> None:
    noisy = [float(n % 2) for n in range(40)]
    page = report(scores(fusion=noisy, treering=noisy[::-1]), reference="fusion")
    assert rows(page)["treering"][-1] == "no difference (+0.0)"


def test_a_report_has_the_headline_by_category() -> None:
    page = report(scores(dense=[1.0, 0.0, 1.0, 0.0]))
    assert "| recall@10 | a (2) | b (2) |\n| --- | --- | --- |\n| dense | 100.0 | 0.0 |" in page
    assert "| all@10 | a (2) | b (2) |" in page


def line(policy: str, question: str, details: Mapping[str, float], **metrics: float) -> Any:
    return QuestionResult(policy, "chat", question, "hard", metrics, details)


def test_a_report_splits_answers_by_place_of_the_evidence_and_by_round() -> None:
    found = [
        line("dense", str(n), {"position": n / 10}, **{"judged": float(n > 4), "IA, round 2": 0.5})
        for n in range(10)
    ]
    page = report(Scores.group(RUN, found))
    head = "| judged, evidence in | first third (4) | middle third (3) | last third (3) |"
    assert head in page
    assert "| dense | 0.0 | 66.7 | 100.0 |" in page
    assert "| IA, round | 2 |\n| --- | --- |\n| dense | 50.0 |" in page


def test_precision_recall_and_f1_are_pooled_over_rows() -> None:
    rows = [(1.0, 1.0, 4.0, 0.4), (0.0, 3.0, 0.0, 0.0)]
    names = ("topic matched", "topic predicted", "topic reference", "topic F1")
    found = [
        line("rows", str(n), {}, **dict(zip(names, row, strict=True))) for n, row in enumerate(rows)
    ]
    scores = Scores.group(RUN, found)
    means = summary(scores)["rows"]
    assert (means["topic P"], means["topic R"], means["topic F1"]) == (0.25, 0.25, 0.25)
    assert "| topic P | topic R |" in report(scores)


def test_cases_show_what_each_policy_answered() -> None:
    found = [line("dense", "1", {"answer": "Porto"}, judged=1.0), line("own", "1", {}, judged=0.0)]  # type: ignore[dict-item]
    page = cases(Scores.group(RUN, found), 1)
    assert page.index("### chat 1: dense") < page.index("answer: Porto") < page.index(": own")


def test_comparing_runs_pairs_the_questions_that_both_hold() -> None:
    old = scores(treering=[0.0] * 20, dense=[0.5] * 20)
    new = scores(replace(RUN, commit="e" * 40), treering=[0.5] * 30, other=[1.0] * 20)
    page = compare(new, old)
    assert "cccccccccccc → eeeeeeeeeeee" in page
    assert rows(page)["treering"] == ["20", "0.0", "50.0", "+50.0 [+50.0, +50.0]", "better"]
    assert "dense" not in page
    assert "other" not in page


def test_runs_on_different_data_are_not_compared() -> None:
    other = scores(replace(RUN, data_sha256="0" * 64), treering=[0.5])
    with pytest.raises(InputError, match="different data"):
        compare(other, scores(treering=[0.5]))


def test_an_unknown_reference_is_named_along_with_those_measured() -> None:
    with pytest.raises(InputError, match="no policy 'bm25' was measured; there are: dense"):
        report(scores(dense=[1.0]), reference="bm25")
