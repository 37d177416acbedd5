"""How sure a hit is: more words held and a clearer lead make surer; nothing is an answer too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering import Memory
from treering.cli.main import app
from treering.errors import InputError
from treering.search.confidence import FEATURES, MODELS, ConfidenceModel, Standings, confidence
from treering.search.rank import rank
from treering.search.relations.combine import Relations
from treering_bench.confidence import (
    AskedHit,
    AskedQuestion,
    asked_questions,
    auc,
    fit,
    measured,
    without,
)
from treering_bench.task import Document, DocumentPiece, Task, TaskQuestion

QUESTION = "Where does the gardener plant tulips?"
LINES = [
    "The gardener plants tulips beside the old wall.",
    "Rain fell on the harbour all week.",
    "The ferry to the island was late again.",
    "A letter from the bank arrived on Monday.",
    "The baker sells rye bread in the morning.",
]

shares = st.floats(0, 1)


@pytest.fixture
def garden(memory: Memory) -> Memory:
    for line in LINES:
        memory.add(line)
    return memory


@given(st.fixed_dictionaries(dict.fromkeys(FEATURES, shares)), st.sampled_from(FEATURES), shares)
def test_more_of_any_feature_makes_a_hit_surer(
    features: dict[str, float], name: str, more: float
) -> None:
    surer = features | {name: features[name] + more}
    assert 0 < confidence(features) <= confidence(surer) < 1


@pytest.mark.parametrize(
    "known", [FEATURES, ("coverage", "standing"), ("cosine", "standing"), ("standing",)]
)
def test_what_is_not_known_of_a_hit_is_not_needed(known: tuple[str, ...]) -> None:
    least = confidence(dict.fromkeys(known, 0.0))
    most = confidence(dict.fromkeys(known, 1.5))
    assert least < 0.05
    assert most > 0.1


def test_every_model_has_weights_for_known_features_alone() -> None:
    assert all(model.weights.keys() <= set(FEATURES) for model in MODELS)
    assert [len(model.weights) for model in MODELS] == [3, 2, 2, 1]


@given(st.lists(st.floats(-5, 5, width=32), min_size=2, max_size=40))
def test_a_standing_is_the_distance_from_the_mean_in_deviations(column: list[float]) -> None:
    scores = np.array([column], dtype=np.float32).T
    standing = Standings.of(scores).standing(column[0], 0)
    deviation = float(np.std(np.array(column, dtype=np.float64)))
    if deviation > 1e-3:
        expected = (column[0] - float(np.mean(column))) / deviation
        assert standing == pytest.approx(expected / np.sqrt(2 * np.log(len(column) + 2)), abs=1e-3)
    elif deviation == 0:
        assert standing == 0


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_the_hit_that_answers_is_the_surest(garden: Memory, mode: str) -> None:
    first, *others = garden.search(QUESTION, mode=mode)  # type: ignore[arg-type]
    assert first.text == LINES[0]
    assert all(first.confidence > hit.confidence > 0 for hit in others)


def test_a_question_of_which_memory_knows_nothing_has_no_sure_hit(garden: Memory) -> None:
    known = garden.search(QUESTION)[0].confidence
    unknown = garden.search("How many moons does Neptune have?")[0].confidence
    assert unknown < known / 2


def test_search_leaves_out_what_is_less_sure_and_may_find_nothing(garden: Memory) -> None:
    every = garden.search(QUESTION)
    least = 0.9 * every[0].confidence
    assert garden.search(QUESTION, min_confidence=least) == every[:1]
    assert garden.search(QUESTION, min_confidence=1.0) == []
    both = garden.search_many([QUESTION, "moons"], min_confidence=least)
    assert [[hit.text for hit in hits] for hits in both] == [LINES[:1], []]


@pytest.mark.parametrize("altitude", ["texts", "mixed"])
def test_a_context_may_be_empty_and_says_how_sure_the_best_was(
    garden: Memory, altitude: str
) -> None:
    surest = garden.search(QUESTION)[0].confidence
    plain = garden.context(QUESTION, altitude=altitude)  # type: ignore[arg-type]
    assert len(str(plain).splitlines()) > 3
    least = 0.6 * surest
    sure = garden.context(QUESTION, altitude=altitude, min_confidence=least)  # type: ignore[arg-type]
    assert [hit.text for passage in sure.passages for hit in passage.hits] == LINES[:1]
    empty = garden.context(QUESTION, altitude=altitude, min_confidence=0.99)  # type: ignore[arg-type]
    assert (empty.passages, str(empty), empty.tokens) == ((), "", 0)
    assert empty.surest == pytest.approx(surest, rel=0.4)


def test_an_empty_memory_has_no_surest(memory: Memory) -> None:
    assert memory.context("anything", min_confidence=0.5).surest is None


@pytest.mark.parametrize("least", [-0.1, 1.1, float("nan")])
def test_a_least_confidence_is_a_probability(memory: Memory, least: float) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        memory.search("x", min_confidence=least)
    with pytest.raises(InputError, match="from 0 to 1"):
        memory.context("x", min_confidence=least)


# ------------------------------------------------------------------ fitting and measuring


@pytest.mark.parametrize("is_chat", [False, True])
def test_taking_rows_out_is_as_if_they_had_never_been_added(
    open_memory: Open, tmp_path: Path, is_chat: bool
) -> None:
    whole, part = open_memory(tmp_path / "whole.db"), open_memory(tmp_path / "part.db")
    for number, line in enumerate(LINES):
        # Long messages are cut, and their pieces related to each other.
        said = [{"role": "assistant", "content": f"{line} " * 80}] if is_chat else line
        whole.add(said, source=f"s{number}")
        if number != 2:
            part.add(said, source=f"s{number}")
    base = whole._views.searcher.snapshot()
    other = part._views.searcher.snapshot()
    assert base is not None
    assert other is not None
    assert is_chat == (len(base) > len(LINES))
    reduced = without(base, base.entry == np.unique(base.entry)[2])
    vector = HashingEmbedder().embed([QUESTION], query=True)
    plan = whole._views.planner.plan(None, None)
    taken_out, never_added = (
        rank(snapshot, Relations(), plan, [QUESTION], vector, "hybrid").scores
        for snapshot in (reduced, other)
    )
    np.testing.assert_allclose(taken_out, never_added, atol=1e-5)


def asked(*relevant: bool, strength: float) -> tuple[AskedHit, ...]:
    return tuple(
        AskedHit({"coverage": strength * one, "cosine": 0.5, "standing": 0.5}, 100, one)
        for one in relevant
    )


def test_a_fit_tells_evidence_from_the_rest_and_its_report_says_how_well() -> None:
    pairs = [
        AskedQuestion(
            asked(True, False, False, strength=1),
            asked(False, False, False, strength=1),
            asked(False, False, False, strength=0),
        )
        for _ in range(50)
    ]
    model = fit(pairs)
    report = measured(pairs, model, 0.5)
    assert model.weights["coverage"] > 3
    assert (report.auc, report.foreign_auc, report.hit_auc) == (1, 1, 1)
    assert (report.useless, report.empty_absent, report.empty_present) == (0, 1, 0)
    assert report.useless_before == pytest.approx(5 / 6)
    assert (report.tokens_before, report.tokens) == (300, 50)
    assert report.calibration < 0.05
    blind = measured(pairs, ConfidenceModel(0.0, {}), 0.4)
    assert (blind.auc, blind.hit_auc) == (0.5, 0.5)
    assert blind.useless == blind.useless_before


@given(st.lists(shares, min_size=1, max_size=8), st.lists(shares, min_size=1, max_size=8))
def test_auc_is_the_share_of_pairs_in_the_right_order(
    positive: list[float], negative: list[float]
) -> None:
    pairs = [(a > b) + (a == b) / 2 for a in positive for b in negative]
    assert auc(np.array(positive), np.array(negative)) == pytest.approx(np.mean(pairs))


def test_questions_are_asked_with_their_evidence_and_without() -> None:
    pieces = tuple(DocumentPiece(str(number), line) for number, line in enumerate(LINES))
    questions = (
        TaskQuestion("q", QUESTION, evidence=frozenset({"0"})),
        TaskQuestion("none", "Nothing?", evidence=frozenset()),
    )
    tasks = [Task("garden", (Document("garden", pieces),), questions)]
    [only] = asked_questions(tasks, HashingEmbedder(), foreign=questions[1:])
    assert [hit.relevant for hit in only.present] == [True, False, False, False, False]
    assert len(only.absent) == 4
    assert not any(hit.relevant for hit in (*only.absent, *only.foreign))


def test_the_command_measures_the_packages_model_or_fits_another(tmp_path: Path) -> None:
    sections = [{"section": str(n), "text": text} for n, text in enumerate(LINES)]
    stories: list[dict[str, object]] = [
        {"story": name, "sections": sections} for name in ("a", "b")
    ]
    questions: list[dict[str, object]] = [
        {
            "question_id": name,
            "question": QUESTION,
            "answers": ["x"],
            "gold_sections": ["0"],
            "story": name,
            "local_or_sum": "local",
        }
        for name in ("a", "b")
    ]
    for name, rows in {"stories": stories, "questions": questions}.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    pair = f"fairytaleqa={tmp_path}"
    run = CliRunner()
    done = run.invoke(app, ["bench", "confidence", "--test", pair])
    model, report = map(json.loads, done.stdout.splitlines())
    assert model["bias"] == MODELS[0].bias
    assert (report["benchmark"], report["questions"], report["auc"]) == ("fairytaleqa", 2, 1.0)
    fitted = run.invoke(app, ["bench", "confidence", "--fit", pair, "--limit", "1"])
    assert set(json.loads(fitted.stdout)["weights"]) == set(FEATURES)
    assert run.invoke(app, ["bench", "confidence", "--test", "locomo"]).exit_code == 2
